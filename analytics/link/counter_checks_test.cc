// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/counter_checks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::seconds;

// Counters of the frames that leaf0 receives from host0, read every 30 s through a MetricStore.
class CounterChecksTest : public testing::Test {
 protected:
  CounterChecksTest()
      : fabric_(topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value()),
        checks_(fabric_),
        store_(fabric_, {.window = seconds(30), .listeners = {&checks_}}),
        receiver_(fabric_.Peer(fabric_.nic(0).port)) {}

  void Report(Metric metric, uint64_t value) {
    CounterEntity entity{.kind = EntityKind::kPort};
    entity.node = fabric_.node(fabric_.port(receiver_).node).name;
    entity.port = fabric_.port(receiver_).name;
    store_.Add({.entity = entity, .metric = metric, .value = value, .event_time = now_});
  }
  // The next reading, with these values of the counters.
  void Read(uint64_t packets, uint64_t bytes) {
    now_ += seconds(30);
    Report(Metric::kRxBytes, bytes);
    Report(Metric::kRxPackets, packets);
  }
  // Twenty readings, between which these packets and bytes arrive.
  void Receive(uint64_t packets, uint64_t bytes) {
    for (uint64_t i = 0; i < 20; ++i) Read(12'345 + packets * i, 678 + bytes * i);
  }
  std::optional<CounterProblem> Problem() const { return checks_.ProblemOfReceived(receiver_); }

  const topology::Fabric fabric_;
  CounterChecks checks_;
  MetricStore store_;
  const topology::PortIndex receiver_;
  Timestamp now_{std::chrono::hours(24 * 365 * 50)};
};

TEST_F(CounterChecksTest, UsualFramesAreNoProblem) {
  Receive(1'000'000, 4'160'000'000);
  EXPECT_EQ(Problem(), std::nullopt);
  EXPECT_EQ(checks_.ProblemOfSent(receiver_), std::nullopt) << "it reported none";
}

TEST_F(CounterChecksTest, PacketsWithoutBytesAreNoProblem) {
  for (uint64_t i = 0; i < 20; ++i) {
    now_ += seconds(30);
    Report(Metric::kRxPackets, 12'345 + 1'000'000 * i);
  }
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, FewPacketsMayHaveAnyLength) {
  Receive(100, 1);
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, KilobytesAreTooFewBytes) {
  Receive(1'000'000'000, 4'160'000'000);
  ASSERT_TRUE(Problem());
  EXPECT_EQ(Problem()->kind, CounterProblemKind::kShortFrames);
  EXPECT_NEAR(Problem()->value, 4.16, 0.001);
}

// At 100 Gb/s, 32 bits wrap up to 87 times in 30 s.
TEST_F(CounterChecksTest, BytesThatWrapBetweenReadingsAreNoProblem) {
  for (uint64_t i = 0; i < 20; ++i) {
    Read(12'345 + 100'000'000 * i, (678 + 400'000'000'000 * i) % (uint64_t{1} << 32));
  }
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, ThousandsOfPacketsHaveTooManyBytes) {
  Receive(1000, 4'160'000'000);
  ASSERT_TRUE(Problem());
  EXPECT_EQ(Problem()->kind, CounterProblemKind::kLongFrames);
  EXPECT_NEAR(Problem()->value, 4.16e6, 1);
}

TEST_F(CounterChecksTest, BytesBeforeARestartCountForNothing) {
  for (uint64_t i = 0; i < 20; ++i) {
    Read(12'345 + 1'000'000 * i, i < 5 ? 9'000'000'000'000 + i : 4'160'000'000 * (i - 4));
  }
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, RoundedPackets) {
  for (uint64_t i = 0; i < 20; ++i) {
    const uint64_t packets = 12'345 + 1'234'567 * i;
    Read(packets - packets % 100'000, packets * 4096);
  }
  EXPECT_EQ(Problem(), (CounterProblem{.kind = CounterProblemKind::kRounded, .value = 100'000}));
}

TEST_F(CounterChecksTest, ExporterThatIsCorrectedIsNoProblemAnyMore) {
  for (uint64_t i = 1; i < 100; ++i) Read(1'000'000 * i, 4'096'000'000 * i);
  ASSERT_TRUE(Problem());
  for (uint64_t i = 100; i < 250; ++i) Read(1'000'000 * i + 17 * (i % 7), 4'096'000'000 * i);
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, RoundIncreasesAreNoProblem) {
  Receive(1'000'000, 4'096'000'000);
  EXPECT_EQ(Problem(), std::nullopt) << "the value before the first packet is not rounded";
}

TEST_F(CounterChecksTest, IdlePortIsNotRounded) {
  for (int i = 0; i < 20; ++i) Read(1'000'000, 4'096'000'000);
  EXPECT_EQ(Problem(), std::nullopt);
}

TEST_F(CounterChecksTest, RatesFallOften) {
  constexpr uint64_t kRates[] = {900'017, 120'031, 430'003, 5'011};
  for (uint64_t i = 0; i < 24; ++i) Read(kRates[i % 4] + i, 4096 * kRates[i % 4]);
  ASSERT_TRUE(Problem());
  EXPECT_EQ(Problem()->kind, CounterProblemKind::kFalls);
  EXPECT_NEAR(Problem()->value, 0.5, 0.05) << "two of four readings are lower than the one before";
}

TEST_F(CounterChecksTest, RatesAfterAMonthAreNoticedWithinAnHour) {
  for (uint64_t i = 0; i < 86'400; ++i) Read(12'345 + 1'000'003 * i, 678 + 4'160'000'000 * i);
  ASSERT_EQ(Problem(), std::nullopt);
  constexpr uint64_t kRates[] = {900'017, 120'031, 430'003, 5'011};
  for (uint64_t i = 0; i < 120; ++i) Read(kRates[i % 4] + i, 4096 * kRates[i % 4]);
  ASSERT_TRUE(Problem());
  EXPECT_EQ(Problem()->kind, CounterProblemKind::kFalls);
}

TEST_F(CounterChecksTest, RoundedAfterAnExactReading) {
  Read(12'345, 678);
  for (uint64_t i = 1; i < 100; ++i) Read(1'000'000 * i, 4'096'000'000 * i);
  ASSERT_TRUE(Problem());
  EXPECT_EQ(Problem()->kind, CounterProblemKind::kRounded);
}

TEST_F(CounterChecksTest, TwoRestartsAreNoProblem) {
  for (uint64_t i = 0; i < 24; ++i) {
    Read(12'345 + 1'000'000 * (i % 9), 678 + 4'160'000'000 * (i % 9));
  }
  EXPECT_EQ(Problem(), std::nullopt);
}

}  // namespace
}  // namespace rocescope
