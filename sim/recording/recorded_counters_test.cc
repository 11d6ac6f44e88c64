// SPDX-License-Identifier: BSD-3-Clause
#include "sim/recording/recorded_counters.h"

#include <gtest/gtest.h>

#include <optional>

#include "topology/generate.h"

namespace rocescope::sim {
namespace {

constexpr Timestamp kBegin = FromNanoseconds(1'000'000'000);

Timestamp At(int microseconds) { return kBegin + std::chrono::microseconds(microseconds); }

class RecordedCountersTest : public ::testing::Test {
 protected:
  RecordedCountersTest() : recorded_(fabric_) {
    const Metric metrics[] = {Metric::kRxPackets, Metric::kQueueWatermark};
    const Metric gpu_metrics[] = {Metric::kGpuUtilisation, Metric::kGpuClock};
    CounterEntity port{.kind = EntityKind::kPort, .priority = 3, .node = "leaf0"};
    port.port = "Ethernet1";
    port_ = recorded_.Announce(port, metrics);
    CounterEntity gpu{.kind = EntityKind::kGpu, .node = "host1"};
    gpu.index = 0;
    gpu_ = recorded_.Announce(gpu, gpu_metrics);
  }
  // A step every 50 us.
  void Step(int number, std::optional<std::vector<uint64_t>> port,
            const std::vector<uint64_t>& gpu) {
    if (port) recorded_.Append(port_, At(50 * number), At(50 * number), *port);
    recorded_.Append(gpu_, At(50 * number), At(50 * number), gpu);
  }
  std::optional<std::vector<uint64_t>> Read(uint32_t entity, int since, int time) {
    std::vector<uint64_t> values(2);
    if (!recorded_.Read(entity, At(since), At(time), values)) return std::nullopt;
    return values;
  }

  topology::Fabric fabric_ =
      topology::Fabric::Make(
          topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 3}).value())
          .value();
  RecordedCounters recorded_;
  uint32_t port_ = 0;
  uint32_t gpu_ = 0;
};

using Values = std::vector<uint64_t>;

TEST_F(RecordedCountersTest, ValueIsThatOfTheLastStep) {
  for (int i = 0; i < 5; ++i) Step(i, Values{10u * i, 0}, {0, 1});
  EXPECT_EQ(recorded_.begin(), At(0));
  EXPECT_EQ(recorded_.end(), At(200));
  EXPECT_EQ(Read(port_, 0, 0), (Values{0, 0}));
  EXPECT_EQ(Read(port_, 0, 49), (Values{0, 0}));
  EXPECT_EQ(Read(port_, 0, 50), (Values{10, 0}));
  EXPECT_EQ(Read(port_, 0, 199), (Values{30, 0}));
  EXPECT_EQ(Read(port_, 0, 60), (Values{10, 0})) << "in any order";
  EXPECT_EQ(recorded_.entities()[port_].node, fabric_.FindNode("leaf0"));
  EXPECT_EQ(recorded_.entities()[gpu_].node, fabric_.FindNode("host1"));
}

TEST_F(RecordedCountersTest, WatermarkIsTheMaximumOfTheStepsSince) {
  const uint64_t watermarks[] = {9, 5, 5, 7, 1, 1};
  for (int i = 0; i < 6; ++i) Step(i, Values{0, watermarks[i]}, {0, 1});
  EXPECT_EQ(Read(port_, 0, 100)->at(1), 5u) << "without the step at `since`";
  EXPECT_EQ(Read(port_, 0, 250)->at(1), 7u);
  EXPECT_EQ(Read(port_, 100, 250)->at(1), 7u);
  EXPECT_EQ(Read(port_, 150, 250)->at(1), 1u);
  EXPECT_EQ(Read(port_, 50, 100)->at(1), 5u) << "an equal row that began before";
  EXPECT_EQ(Read(port_, 160, 170)->at(1), 7u) << "shorter than a step: the last one";
}

TEST_F(RecordedCountersTest, DeviceThatReportsNothingIsAbsent) {
  Step(0, Values{1, 0}, {0, 1});
  Step(1, Values{1, 0}, {0, 1});
  Step(2, std::nullopt, {0, 1});
  Step(3, Values{1, 4}, {0, 1});
  EXPECT_EQ(Read(port_, 0, 99), (Values{1, 0}));
  EXPECT_EQ(Read(port_, 0, 100), std::nullopt);
  EXPECT_EQ(Read(port_, 0, 150), (Values{1, 4}));
  EXPECT_EQ(Read(port_, -10, -1), std::nullopt) << "before the recording";
}

TEST_F(RecordedCountersTest, OutagesAreGapsAfterTheFirstReading) {
  for (int i = 0; i < 10; ++i) {
    const bool down = i < 2 || i == 4 || i == 5 || i >= 8;
    Step(i, down ? std::nullopt : std::optional<Values>({7, i < 4 ? 0u : 1u}), {0, 1});
  }
  using Outage = ExactCounters::Outage;
  EXPECT_EQ(recorded_.OutagesOf(port_),
            (std::vector<Outage>{{At(200), At(300)}, {At(400), Timestamp::max()}}))
      << "priorities are recorded from their first frame on";
  EXPECT_TRUE(recorded_.OutagesOf(gpu_).empty());
  EXPECT_EQ(Read(port_, 0, 199), (Values{7, 0}));
  EXPECT_EQ(Read(port_, 0, 299), std::nullopt);
  EXPECT_EQ(Read(port_, 0, 300), (Values{7, 1}));
}

// The compute time is in picoseconds.
TEST_F(RecordedCountersTest, UtilisationIsTheMeanSince) {
  const uint64_t computed[] = {0, 50'000'000, 50'000'000, 75'000'000, 75'000'000};
  for (int i = 0; i < 5; ++i) Step(i, std::nullopt, {computed[i], 7});
  EXPECT_EQ(Read(gpu_, 0, 50), (Values{100, 7}));
  EXPECT_EQ(Read(gpu_, 0, 100), (Values{50, 7}));
  EXPECT_EQ(Read(gpu_, 50, 150), (Values{25, 7}));
  EXPECT_EQ(Read(gpu_, 0, 200), (Values{37, 7}));
  EXPECT_EQ(Read(gpu_, 0, 0), (Values{0, 7}));
  EXPECT_EQ(Read(gpu_, 160, 180), (Values{50, 7})) << "shorter than a step: the last one";
}

}  // namespace
}  // namespace rocescope::sim
