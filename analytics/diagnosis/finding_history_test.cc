// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/finding_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

// Counters are stored for 256 windows, and the data begins at window 0.
class FindingHistoryTest : public DiagnosisTest {
 protected:
  // Reads the counters of leaf0's ports up to the end of this window.
  void Reach(size_t window) {
    for (; reached_ <= window; ++reached_) {
      for (uint32_t i = 0; i < fabric_.node(Node("leaf0")).port_count; ++i) {
        if (!reads_leaf_) break;
        metrics_.Add(Reading(fabric_.node(Node("leaf0")).first_port + i));
      }
      metrics_.Add(Reading(fabric_.node(Node("spine1")).first_port));
    }
  }
  // A finding of the first detector that can report the kind.
  Finding Of(FaultKind kind, size_t from, std::optional<size_t> until = {}) const {
    const auto detector = std::ranges::find_if(
        kDetectors, [&](const Detector& one) { return one.kinds.Contains(kind); });
    Finding finding{.kind = kind,
                    .place = Link("leaf0", "spine0"),
                    .confidence = 0.9,
                    .detector = detector->name,
                    .from = Begin(from)};
    if (until) finding.until = End(*until);
    finding.detected_at = finding.from + kWindow;
    return finding;
  }
  Findings Update(Findings found) {
    return In(metrics_, [&](const DiagnosisInput& input) {
      for (Finding& finding : history_.Lasting(input)) {
        if (found.empty() || found[0].kind != finding.kind) found.push_back(std::move(finding));
      }
      return history_.Update(std::move(found), input);
    });
  }

  bool reads_leaf_ = true;

 private:
  CounterRecord Reading(topology::PortIndex port) const {
    CounterRecord record{.metric = Metric::kTxPackets, .value = reached_};
    record.entity.node = fabric_.node(fabric_.port(port).node).name;
    record.entity.port = fabric_.port(port).name;
    record.event_time = record.arrival_time = End(reached_);
    return record;
  }

  MetricStore metrics_{fabric_, {.window = kWindow}};
  FindingHistory history_;
  size_t reached_ = 0;
};

auto Lasts(Timestamp from) {
  return testing::AllOf(Field(&Finding::from, from), Field(&Finding::until, std::nullopt));
}
auto Ended(Timestamp from, Timestamp until) {
  return testing::AllOf(Field(&Finding::from, from), Field(&Finding::until, std::optional(until)));
}

TEST_F(FindingHistoryTest, TheStartOfALastingFaultStaysFixed) {
  Reach(200);
  Update({Of(FaultKind::kPfcStorm, 150)});
  for (size_t window = 264; window < 10'000; window += 64) {
    Reach(window);
    // The detector sees the fault from the first stored window on.
    const size_t first = std::max<size_t>(150, window - 255);
    ASSERT_THAT(Update({Of(FaultKind::kPfcStorm, first)}), ElementsAre(Lasts(Begin(150))));
  }
}

TEST_F(FindingHistoryTest, AFaultIsKeptAfterItsEnd) {
  Reach(200);
  Update({Of(FaultKind::kPfcStorm, 150, 180)});
  for (size_t window = 264; window < 2000; window += 64) {
    Reach(window);
    const bool is_stored = window - 255 < 150;
    ASSERT_THAT(Update(is_stored ? Findings{Of(FaultKind::kPfcStorm, 150, 180)} : Findings{}),
                ElementsAre(Ended(Begin(150), End(180))));
  }
}

TEST_F(FindingHistoryTest, AFindingThatLaterWindowsContradictIsWithdrawn) {
  Reach(400);
  Update({Of(FaultKind::kPfcStorm, 350)});
  Reach(410);
  EXPECT_THAT(Update({}), IsEmpty());
}

TEST_F(FindingHistoryTest, AFaultOfWhichNoSignIsStoredHasEnded) {
  Reach(300);
  Update({Of(FaultKind::kPfcStorm, 250)});
  Reach(500);
  Update({Of(FaultKind::kPfcStorm, 250)});
  Reach(560);
  EXPECT_THAT(Update({}), ElementsAre(Ended(Begin(250), End(500))));
}

// The longer delay is all that the stored windows show.
TEST_F(FindingHistoryTest, AFaultThatLooksNormalLastsUntilItsEndIsSeen) {
  Reach(300);
  Update({Of(FaultKind::kAddedLatency, 250)});
  for (size_t window = 364; window < 3000; window += 64) {
    Reach(window);
    const bool is_stored = window - 255 < 250 - 64;
    ASSERT_THAT(Update(is_stored ? Findings{Of(FaultKind::kAddedLatency, 250)} : Findings{}),
                ElementsAre(Lasts(Begin(250))));
  }
  Reach(3100);
  EXPECT_THAT(Update({Of(FaultKind::kAddedLatency, 2846, 3050)}),
              ElementsAre(Ended(Begin(250), End(3050))));
}

TEST_F(FindingHistoryTest, AFaultLastsIfItsPlaceIsNoLongerRead) {
  Reach(300);
  Update({Of(FaultKind::kPfcStorm, 250)});
  reads_leaf_ = false;
  Reach(700);
  EXPECT_THAT(Update({}), ElementsAre(Lasts(Begin(250))));
  reads_leaf_ = true;
  Reach(720);
  EXPECT_THAT(Update({}), ElementsAre(Ended(Begin(250), End(700))));
}

TEST_F(FindingHistoryTest, AFaultThatComesBackIsOneRecurringFinding) {
  Reach(300);
  Update({Of(FaultKind::kPfcStorm, 250, 260)});
  Reach(600);
  EXPECT_THAT(Update({Of(FaultKind::kPfcStorm, 580)}),
              ElementsAre(AllOf(Lasts(Begin(250)), Field(&Finding::times, 2u))));
  // Its second time is still one after the first is no longer stored.
  Reach(900);
  EXPECT_THAT(Update({Of(FaultKind::kPfcStorm, 644)}),
              ElementsAre(AllOf(Lasts(Begin(250)), Field(&Finding::times, 2u))));
}

// Silent losses are known long after their windows. Ten minutes are between these two.
TEST_F(FindingHistoryTest, AFaultThatWasOverBeforeALaterOneKeepsItsEvidence) {
  Finding first = Of(FaultKind::kGrayLoss, 150, 160);
  for (Timestamp* time : {&first.from, &*first.until, &first.detected_at}) {
    *time -= std::chrono::minutes(10);
  }
  first.evidence = {"the first"};
  Finding second = Of(FaultKind::kGrayLoss, 280);
  second.confidence = 0.95;
  second.evidence = {"the second"};
  Reach(200);
  Update({first});
  Reach(300);
  Update({first, second});
  Reach(700);
  EXPECT_THAT(Update({first, second}),
              ElementsAre(Field(&Finding::evidence, ElementsAre("the first")),
                          Field(&Finding::evidence, ElementsAre("the second"))));
}

TEST_F(FindingHistoryTest, WhatAnotherFaultExplainsIsNoFindingAnyMore) {
  Reach(300);
  Update({Of(FaultKind::kPfcStorm, 250)});
  Reach(600);
  Finding cause = Of(FaultKind::kSwitchCrash, 240);
  cause.detected_at = Begin(590);
  cause.place = Switch("leaf0");
  cause.symptoms = {{.kind = FaultKind::kPfcStorm, .place = Link("leaf0", "spine0")}};
  EXPECT_THAT(Update({cause}), ElementsAre(Field(&Finding::kind, FaultKind::kSwitchCrash)));
}

// A drained switch, for example, looks like a crashed one without the windows of the drain.
TEST_F(FindingHistoryTest, WhatWasNoFaultWithMoreEvidenceIsNoneWithLess) {
  Reach(300);
  Update({});
  Reach(500);
  EXPECT_THAT(Update({Of(FaultKind::kSwitchCrash, 250)}), IsEmpty());
  Finding late = Of(FaultKind::kPfcStorm, 250);
  late.detected_at = Begin(450);
  EXPECT_THAT(Update({late}), ElementsAre(Lasts(Begin(250))));
}

TEST_F(FindingHistoryTest, TheStartOfAKnownFaultMayProveToBeEarlier) {
  Reach(500);
  Update({Of(FaultKind::kPfcStorm, 400)});
  Reach(510);
  EXPECT_THAT(Update({Of(FaultKind::kPfcStorm, 300)}), ElementsAre(Lasts(Begin(300))));
}

TEST_F(FindingHistoryTest, WhatWholeTimeEvidenceNoLongerShowsWasWrong) {
  Reach(300);
  Finding swapped = Of(FaultKind::kSwappedCables, 10);
  swapped.detector = "cables";
  Update({swapped});
  Reach(600);
  EXPECT_THAT(Update({}), IsEmpty());
}

// The other detector of swapped cables uses stored windows only, so its findings are kept.
TEST_F(FindingHistoryTest, TheDetectorDecidesWhetherAFindingIsKept) {
  Finding swapped = Of(FaultKind::kSwappedCables, 250);
  swapped.detector = "crossed_links";
  Reach(300);
  Update({swapped});
  Reach(600);
  EXPECT_THAT(Update({}), ElementsAre(Ended(Begin(250), End(300))));
}

TEST_F(FindingHistoryTest, TheBestEvidenceIsKept) {
  Reach(300);
  Finding first = Of(FaultKind::kPfcStorm, 250);
  first.evidence = {"the start"};
  Update({first});
  Reach(600);
  Finding later = Of(FaultKind::kPfcStorm, 400);
  later.confidence = 0.5;
  later.evidence = {"the rest"};
  const Findings found = Update({later});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].confidence, 0.9);
  EXPECT_THAT(found[0].evidence, ElementsAre("the start"));
  EXPECT_EQ(found[0].detected_at, first.detected_at);
}

}  // namespace
}  // namespace rocescope
