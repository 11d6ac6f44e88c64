// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

class ThresholdTest : public DiagnosisTest {
 protected:
  void Queue(topology::PortIndex port, size_t window, uint64_t bytes, uint64_t marked) {
    Says(port, Metric::kQueueWatermark, window, bytes, kRoce);
    Grows(port, Metric::kEcnMarked, window, marked, kRoce);
    Carries(port, window, 1000);
  }
  void Buffer(topology::PortIndex port, size_t window, uint64_t bytes, uint64_t pauses) {
    Says(port, Metric::kBufferWatermark, window, bytes, kRoce);
    Grows(port, Metric::kPfcTx, window, pauses, kRoce);
    Carries(port, window, 1000);
  }
  Findings Found() { return DiagnosisTest::Found(DetectThresholds); }
};

// All mark from 100 kB on: sixty long queues, each with marks.
class LateMarksTest : public ThresholdTest {
 protected:
  LateMarksTest() {
    for (size_t w = 0; w < kWindows; ++w) {
      Queue(Port("leaf1", "spine0"), w, 100'000, 1);
      Queue(Port("leaf2", "spine0"), w, 400'000, 50);
      Queue(Port("leaf3", "spine0"), w, 400'000, 50);
      Queue(Port("spine0", "leaf1"), w, 400'000, 50);
    }
  }
};

TEST_F(LateMarksTest, SwitchesThatMarkAlikeAreAllRight) { EXPECT_TRUE(Found().empty()); }

// Its counters stand still, and its watermarks are those of an earlier time.
TEST_F(LateMarksTest, ASwitchThatReportsOldValuesMarksAsBefore) {
  for (size_t w = 8; w < 14; ++w) {
    Says(Port("leaf0", "spine0"), Metric::kQueueWatermark, w, 400'000, kRoce);
    Grows(Port("leaf0", "spine0"), Metric::kEcnMarked, w, 0, kRoce);
  }
  EXPECT_TRUE(Found().empty());
}

// One of forty and a half goes unmarked by chance: three times in a row, less than once in ten
// thousand.
TEST_F(LateMarksTest, ASwitchThatMarksNoneOfItsLongQueuesMarksTooLate) {
  for (size_t w = 8; w < 14; ++w) Queue(Port("leaf0", "spine0"), w, 400'000, 0);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kMisconfiguredEcn);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(10));
  EXPECT_EQ(found[0].until, std::nullopt) << "no queue has been long enough since then";
  Queue(Port("leaf0", "spine0"), 17, 400'000, 5);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].until, End(13));
}

TEST_F(LateMarksTest, AQueueHeldByPfcGoesUnmarkedAsNothingLeavesIt) {
  for (size_t w = 8; w < 14; ++w) {
    Queue(Port("leaf0", "spine0"), w, 400'000, 0);
    Grows(Port("leaf0", "spine0"), Metric::kPfcRxTime, w, 500'000, kRoce);
  }
  EXPECT_TRUE(Found().empty());
}

// Its make has watermarks, and no counter of marks.
// All packets have CE marks when they arrive: the switch has nothing left to mark.
TEST_F(LateMarksTest, PacketsThatAreMarkedBeforeNeedNoMarks) {
  for (size_t w = 8; w < 14; ++w) Queue(Port("leaf0", "host1"), w, 400'000, 0);
  for (size_t w = 0; w < kWindows; ++w) Queue(Port("leaf2", "host8"), w, 400'000, 50);
  for (size_t w = 0; w < kWindows; ++w) Queue(Port("leaf3", "host12"), w, 400'000, 50);
  EXPECT_EQ(Found().size(), 1u);
  for (size_t w = 8; w < 14; ++w) {
    Grows(OfNic(NicOf("host1")), Metric::kEcnMarkedRoce, w, 900);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateMarksTest, WhoDoesNotTellItsMarksIsNotAccused) {
  for (size_t w = 8; w < 14; ++w) {
    Says(Port("leaf0", "spine0"), Metric::kQueueWatermark, w, 400'000, kRoce);
    Grows(Port("leaf0", "spine0"), Metric::kPfcTx, w, 0, kRoce);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateMarksTest, OneLongQueueWithoutMarksIsChance) {
  Queue(Port("leaf0", "spine0"), 8, 400'000, 0);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateMarksTest, ShortQueuesNeedNoMarks) {
  for (size_t w = 8; w < 14; ++w) Queue(Port("leaf0", "spine0"), w, 90'000, 0);
  EXPECT_TRUE(Found().empty());
}

// Nobody else has a queue as long. Half a one of eleven went unmarked, so to say: three times in a
// row that is less than once in ten thousand. The marks of windows 9 and 16 may belong to 10
// and 15.
TEST_F(ThresholdTest, ASwitchThatMarkedBeforeIsHeldAgainstItself) {
  for (size_t w = 0; w < 10; ++w) Queue(Port("leaf0", "spine0"), w, 900'000, 30);
  for (size_t w = 10; w < 16; ++w) Queue(Port("leaf0", "spine0"), w, 900'000, 0);
  for (size_t w = 16; w < kWindows; ++w) Queue(Port("leaf0", "spine0"), w, 900'000, 30);  // again
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(10));
  EXPECT_EQ(found[0].detected_at, End(12));
  EXPECT_EQ(found[0].until, End(15));
}

// Each second window, that is.
TEST_F(LateMarksTest, ASwitchThatMarksInBetweenMarks) {
  for (size_t w = 8; w < 14; ++w) {
    Queue(Port("leaf0", "spine0"), w, 400'000, w % 2);
    Queue(Port("spine0", "leaf0"), w, 400'000, 50);
  }
  EXPECT_TRUE(Found().empty());
}

// Marks of 400 kB say nothing of 120 kB, which half of the time nobody marks.
TEST_F(LateMarksTest, WhatIsUsualIsThatOfQueuesAsLong) {
  for (size_t w = 0; w < kWindows; ++w) {
    Queue(Port("leaf1", "spine1"), w, 120'000, w % 2);
    Queue(Port("leaf2", "spine1"), w, 120'000, w % 2);
  }
  for (size_t w = 8; w < 16; ++w) Queue(Port("leaf0", "spine0"), w, 120'000, 0);
  EXPECT_TRUE(Found().empty());
}

// Short peaks are marked half of the time. Many of them in a row without a mark are the pattern of
// a job, which repeats, and no evidence.
TEST_F(LateMarksTest, ManyShortPeaksAreNoEvidence) {
  for (size_t w = 0; w < kWindows; ++w) {
    Queue(Port("leaf1", "spine1"), w, 120'000, w % 4 < 2);
    Queue(Port("leaf2", "spine1"), w, 120'000, w % 4 < 2);
    Queue(Port("leaf0", "spine0"), w, 120'000, 0);
  }
  EXPECT_TRUE(Found().empty());
}

// A few marks show that the other queues exceed the threshold only briefly. A queue that exceeds it
// even more briefly has no marks, in every iteration of the job.
TEST_F(LateMarksTest, QueuesWithFewMarksAreNoMeasure) {
  for (size_t w = 0; w < kWindows; ++w) {
    Queue(Port("leaf1", "spine1"), w, 180'000, 4);
    Queue(Port("leaf2", "spine1"), w, 180'000, 4);
  }
  for (size_t w = 8; w < 16; ++w) Queue(Port("leaf0", "spine0"), w, 180'000, 0);
  EXPECT_TRUE(Found().empty());
}

TEST_F(LateMarksTest, QueuesWithManyMarksAreAMeasure) {
  for (size_t w = 0; w < kWindows; ++w) {
    Queue(Port("leaf1", "spine1"), w, 180'000, 40);
    Queue(Port("leaf2", "spine1"), w, 180'000, 40);
  }
  for (size_t w = 8; w < 16; ++w) Queue(Port("leaf0", "spine0"), w, 180'000, 0);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(ThresholdTest, WhereNobodyMarksEcnIsNotInUse) {
  for (size_t w = 0; w < kWindows; ++w) Queue(Port("leaf0", "spine0"), w, 400'000, 0);
  EXPECT_TRUE(Found().empty());
}

// Others hold 1 MB of a neighbour's frames without a word.
class EarlyPausesTest : public ThresholdTest {
 protected:
  EarlyPausesTest() {
    for (size_t w = 0; w < kWindows; ++w) Buffer(Port("leaf2", "spine0"), w, 1'000'000, 0);
  }
};

TEST_F(EarlyPausesTest, ASwitchThatPausesAtATenthOfThatPausesTooEarly) {
  for (size_t w = 8; w < 14; ++w) Buffer(Port("leaf0", "host1"), w, 100'000, 3);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kMisconfiguredAlpha);
  EXPECT_EQ(found[0].place, Switch("leaf0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_EQ(found[0].until, End(13));
}

// The buffer fills between two readings that are almost two windows apart.
TEST_F(EarlyPausesTest, ThePauseIsThatOfTheNextReading) {
  SetReadingDelay(kWindow / 2);
  const topology::PortIndex port = Port("leaf0", "host1");
  for (size_t w = 0; w < kWindows; ++w) {
    const bool is_full = w == 7 || w == 13;
    Buffer(port, w, is_full ? 900'000 : 4000, is_full ? 9 : 0);
  }
  SkipsReadings(EntityOf(port, kRoce), 6, 6);
  SkipsReadings(EntityOf(port, kRoce), 12, 12);
  EXPECT_TRUE(Found().empty());
}

TEST_F(EarlyPausesTest, OneEarlyPauseIsAnAccident) {
  Buffer(Port("leaf0", "host1"), 8, 100'000, 3);
  EXPECT_TRUE(Found().empty());
}

// Nobody pauses in priority 0: how full it gets says nothing of priority 3.
TEST_F(ThresholdTest, ALossyPriorityIsHeldAgainstNobody) {
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("leaf2", "spine0"), Metric::kBufferWatermark, w, 10'000'000, 0);
    Grows(Port("leaf2", "spine0"), Metric::kPfcTx, w, 0, 0);
  }
  for (size_t w = 8; w < 14; ++w) Buffer(Port("leaf0", "host1"), w, 2'000'000, 3);
  EXPECT_TRUE(Found().empty());
}

// Spines may have larger buffers.
TEST_F(ThresholdTest, ASpineIsNoMeasureOfALeaf) {
  for (size_t w = 0; w < kWindows; ++w) Buffer(Port("spine0", "leaf2"), w, 10'000'000, 0);
  for (size_t w = 8; w < 14; ++w) Buffer(Port("leaf0", "host1"), w, 2'000'000, 3);
  EXPECT_TRUE(Found().empty());
}

// Many full ports lower a dynamic threshold by a factor of three.
TEST_F(EarlyPausesTest, ASwitchThatPausesAtHalfOfThatMayHaveMoreFullPorts) {
  for (size_t w = 8; w < 14; ++w) Buffer(Port("leaf0", "host1"), w, 500'000, 3);
  EXPECT_TRUE(Found().empty());
}

TEST_F(EarlyPausesTest, AFillingWithoutAPauseIsNoEarlyPause) {
  for (size_t w = 8; w < 14; ++w) Buffer(Port("leaf0", "host1"), w, 100'000, 0);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
