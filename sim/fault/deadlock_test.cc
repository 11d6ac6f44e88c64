// SPDX-License-Identifier: BSD-3-Clause
// A loop of pauses closes, stands for ever, and opens by a watchdog alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "sim/fault/injector.h"
#include "sim/fault/valley.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr uint8_t kData = 3;
constexpr SimTime kOnset = 2 * kMillisecond;
constexpr SimTime kDuration = 2 * kMillisecond;

using Way = std::vector<topology::PortIndex>;

topology::Fabric LeafSpine(uint32_t leaves, uint32_t spines) {
  return topology::Generate({.shape = topology::Shape::kLeafSpine,
                             .hosts = 4 * leaves,
                             .leaves = leaves,
                             .spines = spines})
      .value();
}

topology::LinkIndex LinkBetween(const topology::Fabric& fabric, std::string_view from,
                                std::string_view to) {
  for (const topology::Port& port : fabric.PortsOf(fabric.FindNode(from))) {
    if (port.link == topology::kNone) continue;
    for (const topology::PortIndex end : fabric.link(port.link).ends) {
      if (fabric.node(fabric.port(end).node).name == to) return port.link;
    }
  }
  return topology::kNone;
}

TEST(ValleyTest, TheLoopPassesFourSwitchesByTurns) {
  const topology::Fabric fabric = LeafSpine(4, 2);
  const auto loop = FindValleyLoop(fabric, LinkBetween(fabric, "leaf0", "spine0"));
  ASSERT_TRUE(loop.has_value()) << loop.error().message;
  std::array<std::string, 4> names;
  for (size_t i = 0; i < 4; ++i) {
    names[i] = fabric.node(fabric.port(loop->ports[i]).node).name;
    // Each sends to the one that sends next.
    EXPECT_EQ(fabric.PeerNode(loop->ports[i]), fabric.port(loop->ports[(i + 1) % 4]).node);
  }
  EXPECT_THAT(names, ElementsAre("leaf0", "spine0", "leaf1", "spine1"));
}

TEST(ValleyTest, AFabricWithoutTwoMoreLeavesHasNone) {
  const topology::Fabric fabric = LeafSpine(3, 2);
  const auto loop = FindValleyLoop(fabric, LinkBetween(fabric, "leaf0", "spine0"));
  ASSERT_FALSE(loop.has_value());
  EXPECT_THAT(loop.error().message, HasSubstr("two edge switches beyond them"));
}

TEST(ValleyTest, AHostsLinkHasNone) {
  const topology::Fabric fabric = LeafSpine(4, 2);
  EXPECT_FALSE(FindValleyLoop(fabric, LinkBetween(fabric, "leaf0", "host0")).has_value());
}

// Sixteen hosts that talk to all others; leaves and spines with shallow thresholds.
class DeadlockTest : public ::testing::Test {
 protected:
  DeadlockTest() : fabric_(LeafSpine(4, 2)) {}

  void Start(const WatchdogOptions& watchdog) {
    NetworkOptions options;
    options.switches.buffer.alpha = 1.0 / 32;
    options.switches.watchdog = watchdog;
    // NCCL's timeout 18 (1.07 s) and the watchdog's 200 ms, both scaled by 1/100.
    options.nics.ack_timeout = 10'700 * kMicrosecond;
    network_ = std::make_unique<Network>(fabric_, options);
    JobOptions job = {
        .name = "train",
        .phases = {{.name = "moe",
                    .compute = 400 * kMicrosecond,
                    .collective = {.kind = CollectiveKind::kAllToAll, .bytes = 4u << 20}}},
        .queue_pairs = 2};
    job.gpus.resize(16);
    std::iota(job.gpus.begin(), job.gpus.end(), 0);
    job_ = Job::Make(*network_, job).value();
    job_->Start();
    injector_ =
        std::make_unique<Injector>(*network_, std::vector<Job*>{job_.get()}, Injector::Options{});
    const FaultOptions fault = {.kind = FaultKind::kPfcDeadlock,
                                .onset = kOnset,
                                .duration = kDuration,
                                .link = LinkBetween(fabric_, "leaf0", "spine0")};
    ASSERT_TRUE(injector_->Add(fault).has_value());
  }
  void Run(SimTime end) { network_->engine().Run(end); }
  const std::vector<topology::PortIndex>& Loop() const { return injector_->happened()[0].ports; }
  template <typename Of>
  std::vector<uint64_t> OfLoop(Of of) {
    std::vector<uint64_t> values;
    for (const topology::PortIndex port : Loop()) {
      values.push_back(static_cast<uint64_t>(of(network_->port(port))));
    }
    return values;
  }
  std::set<uint32_t> Bounced() const {
    std::set<uint32_t> bounced;
    for (uint32_t number = 0; number < network_->queue_pair_count(); ++number) {
      if (network_->HasBounced(number)) bounced.insert(number);
    }
    return bounced;
  }
  // Returns the paths of all queue pairs with the current routes.
  std::vector<Way> Ways() {
    std::vector<Way> ways;
    for (uint32_t number = 0; number < network_->queue_pair_count(); ++number) {
      ways.push_back(network_->PathOf(network_->queue_pair(number)));
    }
    return ways;
  }
  // The path goes down through a port of the loop to a lower switch, and up through the next port.
  bool HasValley(const Way& way) const {
    const std::array<std::array<topology::PortIndex, 2>, 2> valleys = {
        {{Loop()[1], Loop()[2]}, {Loop()[3], Loop()[0]}}};
    return std::ranges::any_of(
        valleys, [&](const auto& valley) { return !std::ranges::search(way, valley).empty(); });
  }
  // The first switch after the sender's own is one of those that turn what goes where this goes.
  bool IsTurnedUnderWay(const Way& way) const {
    const auto loop = FindValleyLoop(fabric_, LinkBetween(fabric_, "leaf0", "spine0"));
    return std::ranges::any_of(loop->detours, [&](const ValleyLoop::Detour& detour) {
      return detour.at == fabric_.PeerNode(way.front()) &&
             detour.edge == fabric_.port(way.back()).node;
    });
  }
  uint64_t Lost(LossCause cause) const {
    return network_->shared().lost[static_cast<size_t>(cause)];
  }
  uint64_t Delivered() const {
    uint64_t frames = 0;
    for (topology::NicIndex i = 0; i < fabric_.nics().size(); ++i) {
      frames += network_->nic(i).delivered();
    }
    return frames;
  }

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Injector> injector_;
};

TEST_F(DeadlockTest, TheFramesOfTheLoopStandForEver) {
  Start({});
  Run(kOnset + kDuration + kMillisecond);
  const auto queued = [](const Port& port) { return port.queued(kData); };
  const auto since = [](const Port& port) { return port.PausedSince(kData); };
  const std::vector<uint64_t> standing = OfLoop(queued);
  const std::vector<uint64_t> held = OfLoop(since);
  EXPECT_THAT(standing, Each(Gt(0u)));
  EXPECT_EQ(OfLoop([](const Port& port) { return port.IsPaused(kData); }),
            std::vector<uint64_t>(4, 1));
  Run(100 * kMillisecond);
  // Nothing has left; one may still have come in by a port that is not of the loop.
  EXPECT_THAT(OfLoop(queued), Pointwise(Ge(), standing));
  EXPECT_EQ(OfLoop(since), held);
  EXPECT_TRUE(job_->failed());  // all retries are used up
}

// No port is paused without a reason: the buffer of its peer is above the XON threshold.
TEST_F(DeadlockTest, EachPauseOfTheLoopComesFromABufferThatIsHeld) {
  Start({});
  Run(20 * kMillisecond);
  for (const topology::PortIndex index : Loop()) {
    const topology::PortIndex peer = fabric_.Peer(index);
    const Switch& holder = network_->switch_at(fabric_.port(peer).node);
    const uint32_t number = network_->port(peer).number();
    EXPECT_GT(holder.buffer().Held(number, kData), 0u) << fabric_.NameOf(index);
    EXPECT_FALSE(holder.buffer().ShouldResume(number, kData)) << fabric_.NameOf(index);
  }
}

TEST_F(DeadlockTest, IsVisibleOnceTheLoopHasClosed) {
  Start({});
  Run(20 * kMillisecond);
  const SimTime visible = injector_->happened()[0].visible;
  ASSERT_NE(visible, kNever);
  EXPECT_GT(visible, kOnset);
  for (const uint64_t since : OfLoop([](const Port& port) { return port.PausedSince(kData); })) {
    EXPECT_LT(since, static_cast<uint64_t>(visible));
  }
}

TEST_F(DeadlockTest, NothingBouncesBeforeTheOnset) {
  Start({});
  Run(kOnset - kMicrosecond);
  EXPECT_GT(Delivered(), 1000u);
  EXPECT_THAT(Bounced(), IsEmpty());
}

// On the way that it takes now, or on that of frames which were bound for an upper switch at the
// onset.
TEST_F(DeadlockTest, WhatBouncesGoesByTwoPortsOfTheLoop) {
  Start({});
  const std::vector<Way> before = Ways();
  Run(kOnset + kDuration - kMicrosecond);
  const std::vector<Way> now = Ways();
  const std::set<uint32_t> bounced = Bounced();
  EXPECT_THAT(bounced, SizeIs(AllOf(Gt(0u), Lt(now.size()))));
  for (const uint32_t number : bounced) {
    EXPECT_TRUE(HasValley(now[number]) || IsTurnedUnderWay(before[number])) << number;
  }
}

TEST_F(DeadlockTest, WhatBouncedIsKnownWhenRoutesAreRightAgain) {
  Start({});
  Run(kOnset + kDuration - kMicrosecond);
  const std::set<uint32_t> bounced = Bounced();
  Run(kOnset + kDuration + kMillisecond);
  EXPECT_EQ(Bounced(), bounced);
  for (const Way& way : Ways()) EXPECT_FALSE(HasValley(way));
}

TEST_F(DeadlockTest, AWatchdogOpensTheLoop) {
  Start({.detection = 2 * kMillisecond, .restoration = 2 * kMillisecond});
  Run(kOnset + kDuration);
  EXPECT_EQ(Lost(LossCause::kWatchdog), 0u);
  Run(10 * kMillisecond);
  EXPECT_GT(Lost(LossCause::kWatchdog), 0u);
  const uint64_t before = Delivered();
  Run(40 * kMillisecond);
  EXPECT_GT(Delivered(), before + 100'000);
  EXPECT_EQ(OfLoop([](const Port& port) { return port.IsDropping(kData); }),
            std::vector<uint64_t>(4, 0));
  EXPECT_FALSE(job_->failed());
}

TEST_F(DeadlockTest, WhatTheWatchdogDropsIsAccountedFor) {
  Start({.detection = 2 * kMillisecond, .restoration = 2 * kMillisecond});
  Run(12 * kMillisecond);
  uint64_t sent = 0;
  uint64_t ended = network_->shared().frames.out() - network_->shared().pauses_out + Delivered();
  for (topology::NicIndex i = 0; i < fabric_.nics().size(); ++i) {
    sent += network_->nic(i).counters().tx_frames;
  }
  for (const uint64_t lost : network_->shared().lost) ended += lost;
  EXPECT_EQ(sent, ended);
  uint64_t discarded = 0;
  for (topology::PortIndex port = 0; port < fabric_.ports().size(); ++port) {
    discarded += network_->port(port).counters().discarded;
  }
  EXPECT_EQ(discarded, Lost(LossCause::kWatchdog));
}

}  // namespace
}  // namespace rocescope::sim
