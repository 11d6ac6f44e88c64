// SPDX-License-Identifier: BSD-3-Clause
#include "sim/fault/injector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "topology/generate.h"

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

  void Start(uint64_t seed = 1) {
    network_ = std::make_unique<Network>(fabric_, NetworkOptions{.seed = seed});
    JobOptions options = {
        .name = "train",
        .phases = {{.name = "dp",
                    .compute = 50 * kMicrosecond,
                    .collective = {.kind = CollectiveKind::kRing, .octets = 4u << 20}}},
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

TEST_F(InjectorTest, APolarisedSwitchSendsAPairsStripesOneWay) {
  const auto links_used = [&](bool polarised) {
    network_ = std::make_unique<Network>(fabric_, NetworkOptions{});
    // One rank pair across leaves, striped over eight queue pairs.
    JobOptions options = {
        .name = "pair",
        .gpus = {0, 4},
        .phases = {{.collective = {.kind = CollectiveKind::kRing, .octets = 8u << 20}}},
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
    EXPECT_EQ(FindFault(kFaults[i].name), static_cast<FaultKind>(i));
  }
  EXPECT_EQ(FindFault("gray"), std::nullopt);
}

}  // namespace
}  // namespace rocescope::sim
