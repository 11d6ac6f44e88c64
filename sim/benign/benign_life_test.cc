// SPDX-License-Identifier: BSD-3-Clause
#include "sim/benign/benign_life.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/workload/stream.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

constexpr SimTime kEnd = 10 * kMillisecond;

class BenignLifeTest : public ::testing::Test {
 protected:
  BenignLifeTest()
      : fabric_(topology::Generate(
                    {.shape = topology::Shape::kLeafSpine, .hosts = 16, .leaves = 4, .spines = 4})
                    .value()) {}

  void Start(BenignLife::Options options, NetworkOptions network = {}) {
    network_ = std::make_unique<Network>(fabric_, network);
    outages_ = std::make_unique<Outages>(*network_, 100 * kMicrosecond);
    wire_faults_ = std::make_unique<WireFaults>(*network_);
    options.end = kEnd;
    life_ = std::make_unique<BenignLife>(*network_, *outages_, *wire_faults_, options);
    life_->Start();
  }
  std::vector<BenignEvent> EventsOf(BenignKind kind) const {
    std::vector<BenignEvent> events = life_->Events();
    std::erase_if(events, [&](const BenignEvent& event) { return event.kind != kind; });
    return events;
  }
  topology::LinkIndex Uplink() const {
    return fabric_.port(fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet5")).link;
  }
  uint64_t Sum(uint64_t PortCounters::* counter) const {
    uint64_t sum = 0;
    for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
      if (fabric_.port(port).link == topology::kNone) continue;
      sum += network_->port(port).counters().*counter;
    }
    return sum;
  }

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Outages> outages_;
  std::unique_ptr<WireFaults> wire_faults_;
  std::unique_ptr<BenignLife> life_;
};

TEST_F(BenignLifeTest, FrameErrorsAreListedAndCounted) {
  Start({.benign = {.frame_errors = {.ports = 1, .frames = 2}}});
  Stream stream(*network_, {.from = 0, .to = 15});
  stream.Begin();
  network_->engine().Run(kEnd);
  const std::vector<BenignEvent> events = EventsOf(BenignKind::kFrameError);
  // Two on each of the links of the path that carried data, and some on the way of ACKs.
  EXPECT_GE(events.size(), 8u);
  EXPECT_EQ(events.size(), Sum(&PortCounters::fcs_errors));
  for (const BenignEvent& event : events) {
    EXPECT_NE(event.place.find(event.direction), std::string::npos)
        << event.direction << " is an end of " << event.place;
    EXPECT_EQ(event.start, event.end);
  }
}

TEST_F(BenignLifeTest, MicroburstOverflowsALossyQueue) {
  // At most 0.5 % of the free buffer of about 9 MB: 45 KB, or 30 frames.
  NetworkOptions network;
  network.switches.buffer.egress_alpha = 0.005;
  Start({.benign = {.microbursts = {.period = 3 * kMillisecond, .senders = 15, .frames = 8}}},
        network);
  network_->engine().Run(kEnd);
  const std::vector<BenignEvent> events = EventsOf(BenignKind::kMicroburst);
  ASSERT_GE(events.size(), 1u);
  for (const BenignEvent& event : events) EXPECT_EQ(event.count, 15u * 8);
  const uint64_t dropped = network_->shared().lost[static_cast<size_t>(LossCause::kBufferFull)];
  EXPECT_GT(dropped, 0u);
  EXPECT_LT(dropped, events.size() * 15 * 8 / 2) << "a few frames, not most of them";
  for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
    EXPECT_EQ(network_->nic(nic).port().counters().pause_rx[3], 0u) << "the class is lossy";
  }
}

TEST_F(BenignLifeTest, HarmlessDiscardsIncreaseOncePerPeriod) {
  Start({.benign = {.harmless_discards = {.ports = 1, .period = kMillisecond}}});
  network_->engine().Run(kEnd);
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    if (fabric_.port(port).link == topology::kNone) continue;
    const bool is_switch = fabric_.node(fabric_.port(port).node).IsSwitch();
    EXPECT_EQ(network_->port(port).counters().harmless_discards, is_switch ? 10u : 0u);
  }
  EXPECT_EQ(EventsOf(BenignKind::kHarmlessDiscards).size(), 48u);  // 16 + 2 * 16 switch ports
}

TEST_F(BenignLifeTest, DrainedLinkGoesDownWithoutALoss) {
  MaintenanceOptions work = {.link = Uplink(),
                             .start = 2 * kMillisecond,
                             .drain = 200 * kMicrosecond,
                             .duration = 3 * kMillisecond};
  Start({.maintenance = {work}});
  std::vector<std::unique_ptr<Stream>> streams;
  for (topology::NicIndex from = 0; from < 4; ++from) {
    streams.push_back(std::make_unique<Stream>(
        *network_, Stream::Options{.from = from, .to = from + 12, .seed = from}));
    streams.back()->Begin();
  }
  const Port& port = network_->port(fabric_.link(work.link).ends[0]);
  const auto up_at = [&](SimTime time) {
    network_->engine().Run(time);
    return port.up();
  };
  EXPECT_TRUE(up_at(2 * kMillisecond + 100 * kMicrosecond));
  EXPECT_FALSE(up_at(4 * kMillisecond));
  EXPECT_TRUE(up_at(6 * kMillisecond));
  network_->engine().Run(kEnd);
  for (const uint64_t lost : network_->shared().lost) EXPECT_EQ(lost, 0u);
  EXPECT_EQ(port.counters().went_down, 1u);
  const std::vector<BenignEvent> events = EventsOf(BenignKind::kLinkDrain);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].start, 2 * kMillisecond);
  EXPECT_EQ(events[0].end, 5'200 * kMicrosecond);
  EXPECT_EQ(events[0].place, fabric_.NameOfLink(work.link));
}

TEST_F(BenignLifeTest, UpgradedSwitchReturnsWithItsLinks) {
  const topology::NodeIndex spine = fabric_.FindNode("spine1");
  Start({.maintenance = {{.kind = MaintenanceKind::kSwitchUpgrade,
                          .node = spine,
                          .start = kMillisecond,
                          .drain = 200 * kMicrosecond,
                          .duration = 2 * kMillisecond}}});
  Stream stream(*network_, {.from = 0, .to = 15});
  stream.Begin();
  network_->engine().Run(2 * kMillisecond);
  EXPECT_FALSE(network_->switch_at(spine).is_up());
  network_->engine().Run(kEnd);
  EXPECT_TRUE(network_->switch_at(spine).is_up());
  for (const topology::LinkIndex link : outages_->LinksOf(spine)) {
    for (const topology::PortIndex end : fabric_.link(link).ends) {
      EXPECT_TRUE(network_->port(end).up());
    }
  }
  for (const uint64_t lost : network_->shared().lost) EXPECT_EQ(lost, 0u);
}

TEST_F(BenignLifeTest, RebootedHostLosesItsLinkForAWhile) {
  const topology::NodeIndex host = fabric_.FindNode("host7");
  Start({.maintenance = {{.kind = MaintenanceKind::kHostReboot,
                          .node = host,
                          .start = kMillisecond,
                          .duration = 2 * kMillisecond}}});
  const topology::NicIndex nic = fabric_.NicsOf(host)[0];
  network_->engine().Run(2 * kMillisecond);
  EXPECT_FALSE(network_->nic(nic).is_up());
  EXPECT_FALSE(network_->nic(nic).port().peer()->up());
  network_->engine().Run(kEnd);
  EXPECT_TRUE(network_->nic(nic).is_up());
  EXPECT_TRUE(network_->nic(nic).port().up());
  EXPECT_EQ(EventsOf(BenignKind::kHostReboot)[0].place, "host7");
}

}  // namespace
}  // namespace rocescope::sim
