// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

constexpr uint64_t kUsual = 1'980'000'000;  // Hz
constexpr uint64_t kMemory = 80'000'000'000;

class StragglerTest : public DiagnosisTest {
 protected:
  void Runs(topology::GpuIndex gpu, size_t first, size_t last, uint64_t hz,
            uint64_t free = kMemory / 10) {
    for (size_t w = first; w <= last; ++w) {
      Says(OfGpu(gpu), Metric::kGpuClock, w, hz);
      Says(OfGpu(gpu), Metric::kMemoryTotal, w, kMemory);
      Says(OfGpu(gpu), Metric::kMemoryFree, w, free);
    }
  }
  void AllRun(uint64_t hz = kUsual, size_t first = 0) {
    for (topology::GpuIndex gpu = 0; gpu < fabric_.gpus().size(); ++gpu) {
      Runs(gpu, first, kWindows - 1, hz);
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectStragglers); }
};

TEST_F(StragglerTest, AGpuWhoseClockFallsBehindItsPeersIsSlow) {
  AllRun();
  Runs(GpuOf("host5"), 8, 13, 1'260'000'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kStraggler);
  EXPECT_EQ(found[0].place, Gpu("host5"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].until, End(13));
  EXPECT_EQ(found[0].detected_at, End(9)) << "after two windows";
}

TEST_F(StragglerTest, OneReadingIsTooLittle) {
  AllRun();
  Runs(GpuOf("host5"), 8, 8, 345'000'000);
  EXPECT_TRUE(Found().empty());
}

// host5 to host9 have no job in windows 4 to 9, and their memory is free.
TEST_F(StragglerTest, AGpuBetweenTwoJobsIsNoStraggler) {
  AllRun();
  for (const char* host : {"host5", "host6", "host7", "host8", "host9"}) {
    Runs(GpuOf(host), 4, 9, 345'000'000, kMemory);
  }
  EXPECT_TRUE(Found().empty());
  Runs(GpuOf("host5"), 12, 15, 1'260'000'000);
  ASSERT_EQ(Found().size(), 1u);
  EXPECT_EQ(Found()[0].from, Begin(12));
}

// The clocks of idle GPUs do not count, even if most are idle.
TEST_F(StragglerTest, IdleGpusAreNoPeers) {
  AllRun();
  for (int i = 0; i < 10; ++i) {
    Runs(GpuOf("host" + std::to_string(i)), 4, 15, 345'000'000, kMemory);
  }
  Runs(GpuOf("host12"), 8, 13, 1'260'000'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Gpu("host12"));
}

TEST_F(StragglerTest, ATenthLessIsUsualAmongBoostClocks) {
  AllRun();
  Runs(GpuOf("host5"), 8, 13, kUsual * 9 / 10);
  EXPECT_TRUE(Found().empty());
}

TEST_F(StragglerTest, AnIdleGpuKeepsNobodyWaiting) {
  AllRun();
  Runs(GpuOf("host5"), 8, kWindows - 1, 345'000'000, kMemory);
  EXPECT_TRUE(Found().empty());
}

TEST_F(StragglerTest, AChangeOfPhaseSlowsAllAndNobodyIsToBlame) {
  AllRun();
  AllRun(1'200'000'000, 8);
  EXPECT_TRUE(Found().empty());
}

// host0 to host7 do one job at 1410 MHz, the others another at 1980 MHz.
TEST_F(StragglerTest, GpusOfAnotherJobAreNoPeers) {
  AllRun();
  iteration_patterns_ = {{.job = 0}, {.job = 1}};
  attribution_.jobs.resize(2);
  for (int i = 0; i < 16; ++i) {
    const std::string host = "host" + std::to_string(i);
    iteration_patterns_[i < 8 ? 0 : 1].members.push_back({.address = AddressOf(host)});
    if (i < 8) Runs(GpuOf(host), 0, kWindows - 1, 1'410'000'000);
  }
  EXPECT_TRUE(Found().empty());
  Runs(GpuOf("host2"), 8, 13, 1'000'000'000);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Gpu("host2"));
}

TEST_F(StragglerTest, GpusOfNoJobArePeersIfTheyHaveAsMuchMemory) {
  AllRun();
  for (const char* host : {"host1", "host2", "host3"}) {
    for (size_t w = 0; w < kWindows; ++w) {
      Says(OfGpu(GpuOf(host)), Metric::kGpuClock, w, 1'410'000'000);
      Says(OfGpu(GpuOf(host)), Metric::kMemoryTotal, w, kMemory / 2);
      Says(OfGpu(GpuOf(host)), Metric::kMemoryFree, w, kMemory / 20);
    }
  }
  EXPECT_TRUE(Found().empty());
}

class WaitingTest : public StragglerTest {
 protected:
  WaitingTest() {
    JobIterationPattern iteration_pattern{
        .job = 3, .period = std::chrono::milliseconds(1), .last = End(kWindows - 1)};
    iteration_pattern.members = {{.address = AddressOf("host1")}, {.address = AddressOf("host5")}};
    iteration_pattern.straggler = {.member = 1,
                                   .iterations = 9,
                                   .of = 10,
                                   .lateness = std::chrono::microseconds(300),
                                   .from = Begin(8),
                                   .until = End(kWindows - 1),
                                   .confidence = 0.9};
    iteration_patterns_ = {iteration_pattern};
    attribution_.jobs.resize(4);
  }
};

TEST_F(WaitingTest, WithoutGpuCountersItIsTheOneWhoEntersLast) {
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Gpu("host5"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, Begin(10)) << "two periods later";
  EXPECT_FALSE(found[0].until);
  EXPECT_EQ(found[0].affected_jobs, std::vector<uint32_t>{3});
  EXPECT_FALSE(found[0].further.empty()) << "GPU clocks are missing telemetry";
  EXPECT_EQ(found[0].basis, Basis::kWaiting);
}

TEST_F(WaitingTest, GpusOfAHostThatAreLateTogetherAreASet) {
  // GPUs of one host wait for each other over NVLink: which of them is slow the wire does not show.
  iteration_patterns_[0].members.push_back({.address = AddressOf("host3")});
  iteration_patterns_[0].straggler->alternative = {2};
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].place, Gpu("host5"));
  ASSERT_EQ(found[0].alternatives.size(), 1u);
  EXPECT_EQ(found[0].alternatives[0].place, Gpu("host3"));
  EXPECT_EQ(found[0].alternatives[0].probability, found[0].confidence);
  EXPECT_NEAR(found[0].confidence, 0.8 * 0.9 / 2, 1e-9);
}

TEST_F(WaitingTest, WhereClocksSayThatAllAreFastNobodyIsSlow) {
  AllRun();
  EXPECT_TRUE(Found().empty());
}

// Three of sixteen GPUs report their clocks; the clock of host5 is unknown.
TEST_F(WaitingTest, ClocksOfOthersSayNothingOfIt) {
  for (const char* host : {"host0", "host8", "host9"}) Runs(GpuOf(host), 0, kWindows - 1, kUsual);
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(WaitingTest, AJobThatWaitsForNobodyHasNoStraggler) {
  iteration_patterns_[0].straggler.reset();
  EXPECT_TRUE(Found().empty());
}

// In MHz instead of Hz.
TEST_F(StragglerTest, ClockInAWrongUnitIsNotSlow) {
  AllRun();
  Runs(GpuOf("host5"), 0, kWindows - 1, 1410);
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
