// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/silent_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "rocescope/v1/truth.pb.h"
#include "sim/recording/recorded_counters.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Timestamp kBegin = FromNanoseconds(1'000'000'000);

// A switch with three hosts. Each port forwarded 100 frames of 1,000 bytes.
class SilentLossTest : public ::testing::Test {
 protected:
  SilentLossTest() {
    const topology::NodeIndex leaf = fabric_.FindNode("leaf0");
    for (const topology::Port& port : fabric_.PortsOf(leaf)) {
      if (port.link == topology::kNone) continue;
      CounterEntity entity{.kind = EntityKind::kPort, .node = "leaf0"};
      entity.port = port.name;
      const Metric metrics[] = {Metric::kRxPackets, Metric::kTxPackets, Metric::kTxBytes};
      const uint32_t all = recorded_.Announce(entity, metrics);
      entity.priority = 3;
      const Metric of_queue[] = {Metric::kQueueBytes, Metric::kQueueWatermark};
      const uint32_t queue = recorded_.Announce(entity, of_queue);
      ports_.emplace_back(all, queue);
    }
    Append(kBegin, {0, 0, 0}, {4'000, 7'500});
    Append(kBegin + std::chrono::milliseconds(1), {100, 100, 100'000}, {0, 4'000});
  }
  std::vector<SilentLoss> Find(const std::string& kind, const std::string& place,
                               const std::string& direction = "") {
    v1::Truth truth;
    v1::TruthFault& fault = *truth.add_faults();
    fault.set_kind(kind);
    fault.set_place(place);
    fault.set_direction(direction);
    fault.set_affected_frames(5);
    return FindSilentLosses(truth, fabric_, recorded_);
  }

  topology::Fabric fabric_ =
      topology::Fabric::Make(
          topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 3}).value())
          .value();
  RecordedCounters recorded_{fabric_};

 private:
  void Append(Timestamp time, const std::vector<uint64_t>& all,
              const std::vector<uint64_t>& queue) {
    for (const auto& [port, priority] : ports_) {
      recorded_.Append(port, time, time, all);
      recorded_.Append(priority, time, time, queue);
    }
  }

  std::vector<std::pair<uint32_t, uint32_t>> ports_;  // entities of a port and its priority
};

TEST_F(SilentLossTest, SwitchForwardsCountsOrQueuesWhatItReceives) {
  for (const char* kind : {"blackhole", "lost_cnps"}) {
    const std::vector<SilentLoss> losses = Find(kind, "leaf0");
    ASSERT_EQ(losses.size(), 1u) << kind;
    const LossWatch& watch = losses[0].watch;
    EXPECT_THAT(watch.sent, ElementsAre(0, 2, 4));
    EXPECT_EQ(watch.received, watch.sent);
    EXPECT_THAT(watch.queues, ElementsAre(1, 3, 5));
    EXPECT_EQ(watch.sent_metric, Metric::kRxPackets);
    EXPECT_THAT(watch.received_metrics,
                ElementsAre(Metric::kTxPackets, Metric::kRxDiscards, Metric::kTxDiscards,
                            Metric::kTtlDrops, Metric::kNoRouteDrops, Metric::kMtuDrops));
    EXPECT_EQ(watch.frame_bytes, 1'000);
    EXPECT_EQ(watch.most_queued, 12u) << "4,000 bytes after the first step, in each of three";
    EXPECT_EQ(watch.lost, 5u);
  }
}

TEST_F(SilentLossTest, LinkDeliversOrCountsWhatIsSent) {
  const topology::PortIndex port = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1");
  const std::string link = fabric_.NameOfLink(fabric_.port(port).link);
  const std::vector<SilentLoss> losses = Find("gray_loss", link, "leaf0:Ethernet1");
  ASSERT_EQ(losses.size(), 1u);
  const LossWatch& watch = losses[0].watch;
  EXPECT_THAT(watch.sent, ElementsAre(0));
  EXPECT_THAT(watch.received, IsEmpty()) << "the NIC is not recorded";
  EXPECT_THAT(watch.received_metrics, ElementsAre(Metric::kRxPackets, Metric::kFcsErrors));
  EXPECT_THAT(watch.queues, IsEmpty());
  EXPECT_GT(watch.in_flight, 0u);
}

TEST_F(SilentLossTest, OtherFaultsAreNotSilent) {
  EXPECT_THAT(Find("switch_crash", "leaf0"), IsEmpty());
}

}  // namespace
}  // namespace rocescope::sim
