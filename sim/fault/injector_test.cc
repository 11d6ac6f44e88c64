// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/injector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "sim/fault/cables.h"
#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope::sim {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr SimTime kOnset = 2 * kMillisecond;
constexpr SimTime kEnd = 8 * kMillisecond;

// Sixteen hosts on four leaves and four spines; a ring over the first twelve that is always busy.
class InjectorTest : public ::testing::Test {
 protected:
  InjectorTest()
      : fabric_(topology::Generate(
                    {.shape = topology::Shape::kLeafSpine, .hosts = 16, .leaves = 4, .spines = 4})
                    .value()) {}

  void Start(NetworkOptions network = {}) {
    const uint64_t seed = network.seed;
    network_.reset();  // one at a time: it forgets all events as it goes
    network_ = std::make_unique<Network>(fabric_, network);
    JobOptions options = {
        .name = "train",
        .phases = {{.name = "dp",
                    .compute = 50 * kMicrosecond,
                    .collective = {.kind = CollectiveKind::kRing, .bytes = 4u << 20}}},
        .seed = seed};
    options.gpus.resize(12);
    std::iota(options.gpus.begin(), options.gpus.end(), 0);
    job_ = Job::Make(*network_, options).value();
    job_->Start();
    injector_ =
        std::make_unique<Injector>(*network_, std::vector<Job*>{job_.get()}, Injector::Options{});
  }
  const Injector::Happened& Run(FaultOptions options) {
    options.onset = kOnset;
    EXPECT_TRUE(injector_->Add(options).has_value());
    network_->engine().Run(kEnd);
    return injector_->happened().back();
  }
  // Between the first host's switch and a spine, such that the job uses it.
  topology::LinkIndex BusyLink() {
    network_->engine().Run(kOnset / 2);
    const topology::NodeIndex leaf = fabric_.FindNode("leaf0");
    topology::LinkIndex busiest = topology::kNone;
    uint64_t most = 0;
    for (const topology::Port& port : fabric_.PortsOf(leaf)) {
      const auto index = static_cast<topology::PortIndex>(&port - fabric_.ports().data());
      const topology::NodeIndex peer = fabric_.PeerNode(index);
      if (peer == topology::kNone || !fabric_.node(peer).IsSwitch()) continue;
      const uint64_t frames = network_->port(index).counters().tx_frames;
      if (frames > most) {
        most = frames;
        busiest = port.link;
      }
    }
    EXPECT_NE(busiest, topology::kNone);
    return busiest;
  }
  double LaterIterations() const {  // mean, in us, of those that began after the onset
    double sum = 0;
    int count = 0;
    for (const Job::Iteration& iteration : job_->iterations()) {
      if (iteration.begin < kOnset || iteration.end == kNever) continue;
      sum += static_cast<double>(iteration.end - iteration.begin) / kMicrosecond;
      ++count;
    }
    return count == 0 ? static_cast<double>(kEnd - kOnset) / kMicrosecond : sum / count;
  }
  double Healthy() {
    Start();
    network_->engine().Run(kEnd);
    return LaterIterations();
  }

  topology::Fabric fabric_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Injector> injector_;
};

TEST_F(InjectorTest, ALinkThatGoesDownIsAvoidedAfterAWhile) {
  Start();
  const topology::LinkIndex link = BusyLink();
  const auto& happened = Run({.kind = FaultKind::kLinkDown, .link = link});
  EXPECT_EQ(happened.visible, kOnset);
  EXPECT_GT(network_->shared().lost[static_cast<size_t>(LossCause::kLinkDown)], 0u);
  const uint64_t sent = network_->port(fabric_.link(link).ends[0]).counters().tx_frames;
  network_->engine().Run(kEnd + kMillisecond);
  EXPECT_EQ(network_->port(fabric_.link(link).ends[0]).counters().tx_frames, sent);
  EXPECT_FALSE(job_->failed());
}

TEST_F(InjectorTest, AGrayLinkLosesItsShareAndCountsNothing) {
  Start();
  const topology::LinkIndex link = BusyLink();
  const auto& happened = Run({.kind = FaultKind::kGrayLoss, .link = link, .probability = 0.02});
  EXPECT_THAT(happened.visible, AllOf(Ge(kOnset), Le(kEnd)));
  EXPECT_EQ(happened.affected, network_->shared().lost[static_cast<size_t>(LossCause::kWireFault)]);
  for (const topology::PortIndex port : fabric_.link(link).ends) {
    EXPECT_EQ(network_->port(port).counters().fcs_errors, 0u);
  }
}

TEST_F(InjectorTest, BitErrorsAreCountedByTheNextMac) {
  Start();
  const topology::LinkIndex link = BusyLink();
  const auto& happened = Run({.kind = FaultKind::kBitErrors, .link = link, .probability = 0.02});
  uint64_t errors = 0;
  for (const topology::PortIndex port : fabric_.link(link).ends) {
    errors += network_->port(port).counters().fcs_errors;
  }
  EXPECT_EQ(errors, happened.affected);
  EXPECT_GT(errors, 0u);
}

TEST_F(InjectorTest, ASlowLinkStretchesIterations) {
  const double healthy = Healthy();
  Start();
  Run({.kind = FaultKind::kDegradedRate, .link = BusyLink(), .factor = 0.1});
  EXPECT_GT(LaterIterations(), 1.5 * healthy);
}

TEST_F(InjectorTest, AStragglerStretchesIterations) {
  const double healthy = Healthy();
  Start();
  const auto& happened = Run({.kind = FaultKind::kStraggler, .gpu = 5, .factor = 20});
  EXPECT_GT(LaterIterations(), healthy + 500);  // 19 times 50 us more to compute
  EXPECT_NE(happened.visible, kNever);
}

TEST_F(InjectorTest, AnIncastMarksAndIsBlamed) {
  Start();
  const auto& happened = Run({.kind = FaultKind::kIncast, .nic = 0, .senders = {12, 13, 14, 15}});
  EXPECT_EQ(happened.culprits.size(), 4u);
  const topology::PortIndex last_hop = fabric_.Peer(fabric_.nic(0).port);
  EXPECT_GT(network_->port(last_hop).counters().ecn_marked[3], 0u);
}

TEST_F(InjectorTest, ASlowReceiverPausesItsSwitch) {
  Start();
  Run({.kind = FaultKind::kSlowReceiver, .nic = 3, .rate = 1e9});
  EXPECT_GT(network_->nic(3).port().counters().pause_tx[3], 0u);
}

TEST_F(InjectorTest, AStormHoldsItsPortShut) {
  Start();
  const auto& happened = Run({.kind = FaultKind::kPfcStorm, .nic = 3});
  EXPECT_EQ(happened.visible, kOnset);
  const Port& held = *network_->nic(3).port().peer();
  EXPECT_NEAR(static_cast<double>(held.PausedFor(3)), static_cast<double>(kEnd - kOnset),
              10.0 * kMicrosecond);
}

// With a watchdog on the paused port, its switch resumes the other senders; after the storm, the
// port forwards again.
TEST_F(InjectorTest, AWatchdogSparesTheOthersAStorm) {
  const auto held = [this] {
    int nics = 0;
    for (topology::NicIndex i = 0; i < fabric_.nics().size(); ++i) {
      nics += network_->nic(i).port().IsPaused(3);
    }
    return nics;
  };
  Start();
  Run({.kind = FaultKind::kPfcStorm, .nic = 3});
  EXPECT_GT(held(), 0);

  NetworkOptions options;
  options.switches.watchdog = {.detection = kMillisecond, .restoration = kMillisecond};
  Start(options);
  Run({.kind = FaultKind::kPfcStorm, .duration = kEnd - kOnset, .nic = 3});
  EXPECT_EQ(held(), 0);
  const Port& port = *network_->nic(3).port().peer();
  EXPECT_EQ(port.counters().watchdog[3], 1u);
  EXPECT_TRUE(port.IsDropping(3));
  EXPECT_GT(network_->shared().lost[static_cast<size_t>(LossCause::kWatchdog)], 0u);
  network_->engine().Run(kEnd + 2 * kMillisecond);
  EXPECT_FALSE(port.IsDropping(3));
}

TEST_F(InjectorTest, AShutPortKeepsNothingOfTheBuffer) {
  Start();
  const topology::LinkIndex link = BusyLink();
  Run({.kind = FaultKind::kLinkDown, .link = link});
  const Port& leaf = network_->port(fabric_.link(link).ends[0]);
  EXPECT_GT(leaf.counters().discarded, 0u);
  EXPECT_EQ(leaf.counters().went_down, 1u);
  const Switch& at = network_->switch_at(fabric_.FindNode("leaf0"));
  uint64_t queued = 0;
  for (size_t i = 0; i < at.port_count(); ++i) queued += at.port(i).queued();
  EXPECT_EQ(at.buffer().used(), queued);
}

TEST_F(InjectorTest, DeprioritisedCnpsWaitBehindData) {
  // host0 receives CNPs for its CE-marked stream through a switch whose data are blocked.
  const auto run = [this](bool fault) {
    Start();
    std::vector<std::unique_ptr<Stream>> streams;
    for (const topology::NicIndex from : {0u, 1u, 2u}) {
      streams.push_back(std::make_unique<Stream>(
          *network_, Stream::Options{.from = from, .to = 13, .seed = from}));
      streams.back()->Begin();
    }
    // The way back is busy as well.
    for (const topology::NicIndex from : {12u, 13u, 14u}) {
      streams.push_back(std::make_unique<Stream>(
          *network_, Stream::Options{.from = from, .to = 0, .seed = from}));
      streams.back()->Begin();
    }
    Injector::Happened happened;
    if (fault) {
      happened = Run({.kind = FaultKind::kDeprioritisedCnps, .node = fabric_.FindNode("leaf0")});
    }
    network_->engine().Run(kEnd);
    return happened;
  };
  const auto waited = [this] {
    return network_->switch_at(fabric_.FindNode("leaf0")).held_up_cnps();
  };
  run(false);
  EXPECT_EQ(waited(), 0u);
  const Injector::Happened happened = run(true);
  EXPECT_GE(waited(), 5u);
  EXPECT_LE(happened.affected, waited());  // it looks now and then
  EXPECT_NE(happened.visible, kNever);
}

TEST_F(InjectorTest, APolarisedSwitchSendsAPairsStripesOneWay) {
  const auto links_used = [&](bool polarised) {
    network_ = std::make_unique<Network>(fabric_, NetworkOptions{});
    // One rank pair across leaves, striped over eight queue pairs.
    JobOptions options = {
        .name = "pair",
        .gpus = {0, 4},
        .phases = {{.collective = {.kind = CollectiveKind::kRing, .bytes = 8u << 20}}},
        .queue_pairs = 8,
        .chunk = 64u << 10};
    job_ = Job::Make(*network_, options).value();
    network_->engine().At(kOnset, [this] { job_->Start(); });
    injector_ = std::make_unique<Injector>(*network_, std::vector<Job*>{}, Injector::Options{});
    const topology::NodeIndex leaf = fabric_.FindNode("leaf0");
    if (polarised) {
      FaultOptions fault = {.kind = FaultKind::kPolarisation, .node = leaf};
      EXPECT_TRUE(injector_->Add(fault).has_value());
    }
    network_->engine().Run(kEnd);
    int used = 0;
    for (const topology::Port& port : fabric_.PortsOf(leaf)) {
      const auto index = static_cast<topology::PortIndex>(&port - fabric_.ports().data());
      const topology::NodeIndex peer = fabric_.PeerNode(index);
      used += peer != topology::kNone && fabric_.node(peer).IsSwitch() &&
              network_->port(index).counters().tx_frames > 0;
    }
    return used;
  };
  EXPECT_EQ(links_used(true), 1);
  EXPECT_GE(links_used(false), 3);
}

// A fault touches what passes while it lasts, not what comes behind it.
TEST_F(InjectorTest, FramesBehindAFaultsEndAreNotItsOwn) {
  Start();
  const topology::LinkIndex link = BusyLink();
  uint64_t at_end = 0;
  const auto sent = [&] {
    uint64_t frames = 0;
    for (const topology::PortIndex port : fabric_.link(link).ends) {
      frames += network_->port(port).counters().tx_frames;
    }
    return frames;
  };
  constexpr SimTime kDuration = kMillisecond + 3 * kMicrosecond;  // between two looks
  uint64_t at_onset = 0;
  network_->engine().At(kOnset, [&] { at_onset = sent(); });
  network_->engine().At(kOnset + kDuration, [&] { at_end = sent(); });
  const auto& happened = Run({.kind = FaultKind::kAddedLatency,
                              .duration = kDuration,
                              .link = link,
                              .delay = 10 * kMicrosecond});
  EXPECT_GT(at_end, at_onset);
  EXPECT_EQ(happened.affected, at_end - at_onset);
  EXPECT_GT(sent(), at_end);
}

TEST_F(InjectorTest, WhatAFaultTouchedIsKnownToTheFrameWhenTheRunIsOver) {
  Start();
  EXPECT_TRUE(injector_
                  ->Add({.kind = FaultKind::kGrayLoss,
                         .onset = kOnset,
                         .link = BusyLink(),
                         .probability = 0.5})
                  .has_value());
  network_->engine().Run(kOnset + 123'457 * kNanosecond);
  injector_->Finish();
  EXPECT_EQ(injector_->happened().back().affected,
            network_->shared().lost[static_cast<size_t>(LossCause::kWireFault)]);
}

// Spines have one way down to each leaf: no hash decides anything there.
TEST_F(InjectorTest, AHashThatDecidesNothingIsNoVisibleFault) {
  Start();
  const auto& happened =
      Run({.kind = FaultKind::kPolarisation, .node = fabric_.FindNode("spine0")});
  EXPECT_EQ(happened.affected, 0u);
  EXPECT_EQ(happened.visible, kNever);
}

TEST_F(InjectorTest, ThresholdsThatNoQueueReachesAreNoVisibleFault) {
  const auto affected = [this](uint64_t threshold) {
    Start({.switches = {.ecn = {.minimum = threshold, .maximum = threshold}}});
    return Run({.kind = FaultKind::kMisconfiguredEcn, .node = fabric_.FindNode("leaf0")});
  };
  EXPECT_EQ(affected(4u << 20).visible, kNever);
  const Injector::Happened shown = affected(1'000);
  EXPECT_NE(shown.visible, kNever);
  EXPECT_GE(shown.affected, Injector::kVisibleFrames);
}

TEST_F(InjectorTest, AReceiverThatIsFastEnoughIsNoVisibleFault) {
  Start();
  EXPECT_EQ(Run({.kind = FaultKind::kSlowReceiver, .nic = 15, .rate = 1e9}).visible, kNever);
}

TEST_F(InjectorTest, ABlackholeSwallowsOneDestination) {
  Start();
  const auto& happened =
      Run({.kind = FaultKind::kBlackhole, .node = fabric_.FindNode("leaf0"), .nic = 4});
  EXPECT_GT(network_->shared().lost[static_cast<size_t>(LossCause::kBlackhole)], 0u);
  EXPECT_GT(happened.affected, 0u);
}

TEST_F(InjectorTest, APlaceOfTheWrongKindIsRefused) {
  Start();
  const Status added = injector_->Add({.kind = FaultKind::kGrayLoss, .nic = 1});
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().message, HasSubstr("gray_loss needs a link"));
}

TEST_F(InjectorTest, AStragglerThatNoJobUsesIsRefused) {
  Start();
  const Status added = injector_->Add({.kind = FaultKind::kStraggler, .gpu = 15});
  ASSERT_FALSE(added.has_value());
  EXPECT_THAT(added.error().message, HasSubstr("GPU 0 of host15"));
}

TEST(FaultTest, NamesAndKindsMatch) {
  for (size_t i = 0; i < kFaultKinds; ++i) {
    EXPECT_EQ(FindFaultKind(kFaultInfos[i].name), static_cast<FaultKind>(i));
  }
  EXPECT_EQ(FindFaultKind("gray"), std::nullopt);
}

TEST(CablesTest, SwappedOnesDifferInTwoLinksAlone) {
  const topology::Fabric declared =
      topology::Generate(
          {.shape = topology::Shape::kLeafSpine, .hosts = 16, .leaves = 4, .spines = 4})
          .value();
  const topology::PortIndex a = declared.FindPort(declared.FindNode("leaf0"), "Ethernet5");
  const topology::PortIndex b = declared.FindPort(declared.FindNode("leaf2"), "Ethernet7");
  const auto real = SwapCables(declared, {a, b});
  ASSERT_TRUE(real.has_value()) << real.error().message;
  EXPECT_EQ(real->Peer(a), declared.Peer(b));
  EXPECT_EQ(real->Peer(b), declared.Peer(a));
  int differing = 0;
  for (topology::PortIndex port = 0; port < declared.ports().size(); ++port) {
    differing += real->Peer(port) != declared.Peer(port);
  }
  EXPECT_EQ(differing, 4);
  // Back into each other's place.
  EXPECT_EQ(topology::WriteFabric(SwapCables(*real, {a, b}).value()),
            topology::WriteFabric(declared));
}

TEST(CablesTest, ALinkFromANodeToItselfIsRefused) {
  const topology::Fabric fabric =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 1}).value();
  const topology::PortIndex uplink = fabric.FindPort(fabric.FindNode("leaf0"), "Ethernet3");
  const topology::PortIndex other_end =
      fabric.Peer(fabric.FindPort(fabric.FindNode("leaf1"), "Ethernet3"));
  const auto swapped = SwapCables(fabric, {uplink, other_end});
  ASSERT_FALSE(swapped.has_value());
  EXPECT_THAT(swapped.error().message, HasSubstr("one node"));
}

}  // namespace
}  // namespace rocescope::sim
