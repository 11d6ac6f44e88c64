// SPDX-License-Identifier: BSD-3-Clause
// Compares the model with closed-form results, and with published results of other simulators and
// papers for the same cases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "sim/fault/wire_fault.h"
#include "sim/validation/experiment.h"

namespace rocescope::sim::test {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::Le;

// Every frame that leaves a NIC or switch reaches a receiver or a drop counter once the network is
// idle.
void ExpectNothingVanished(Experiment& experiment) {
  EXPECT_EQ(experiment.network().shared().frames.out(), 0u);
}

double Nanoseconds(SimTime time) { return static_cast<double>(time) / kNanosecond; }

// 1000 frames of 1048 bytes pass the first link back to back (83.84 ns each). The last one is
// stored and forwarded at each switch. Its ACK of 60 bytes (4.8 ns) returns. Each link has a delay
// of 1 us in each direction.
double OneFlow(int links) {
  return 1000 * 83.84 + (links - 1) * 83.84 + links * 4.8 + 2 * links * 1000;
}

TEST(Validation, OneFlowOverTwoLinksTakesTheExpectedTime) {
  Experiment experiment(Star(16), Reference());
  experiment.Add({.from = 0, .to = 1});
  experiment.Run();
  EXPECT_DOUBLE_EQ(Nanoseconds(experiment.durations()[0]), OneFlow(2));
  EXPECT_EQ(std::llround(Nanoseconds(experiment.durations()[0])), 87'933);
  ExpectNothingVanished(experiment);
}

TEST(Validation, OneFlowOverFourLinksTakesTheExpectedTime) {
  Experiment experiment(
      {.shape = topology::Shape::kLeafSpine, .hosts = 4, .leaves = 2, .spines = 1}, Reference());
  experiment.Add({.from = 0, .to = 3});
  experiment.Run();
  EXPECT_DOUBLE_EQ(Nanoseconds(experiment.durations()[0]), OneFlow(4));
  EXPECT_EQ(std::llround(Nanoseconds(experiment.durations()[0])), 92'111);
}

struct Incast {
  double mean = 0;      // us
  double first = 1e12;  // us, of the run whose last flow finished first
};
Incast RunIncast(void (*set)(NetworkOptions&), uint64_t bytes, uint64_t seeds) {
  Incast incast;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    NetworkOptions options = Reference();
    set(options);
    options.seed = seed;
    Experiment experiment(Star(16), options);
    for (uint32_t i = 1; i <= 8; ++i) experiment.Add({.from = i, .to = 0, .bytes = bytes});
    experiment.Run();
    incast.mean += experiment.MeanMicroseconds() / static_cast<double>(seeds);
    incast.first = std::min(incast.first, static_cast<double>(experiment.Last()) / kMicrosecond);
  }
  return incast;
}

// The mean of four public simulators.
TEST(Validation, IncastOfEightMegabytesWithEarlyMarks) {
  EXPECT_NEAR(RunIncast(SetA, 1'000'000, 10).mean, 1550, 1550 * 0.03);
}

TEST(Validation, IncastOfEightyMegabytesWithEarlyMarks) {
  EXPECT_NEAR(RunIncast(SetA, 10'000'000, 10).mean, 7600, 7600 * 0.02);
}

// 8 MB in frames of 1048 bytes take 670 us at 100 Gb/s, which is the lower bound.
TEST(Validation, IncastOfEightMegabytesWithLateMarks) {
  const Incast incast = RunIncast(SetP, 1'000'000, 10);
  EXPECT_NEAR(incast.mean, 715, 715 * 0.05);
  EXPECT_GE(incast.first, 675);
}

// Zhu et al., SIGCOMM 2015, figure 10: two flows share a bottleneck fairly.
TEST(Validation, TwoFlowsConvergeAsInThePaper) {
  NetworkOptions options = Reference();
  options.switches.ecn = {.minimum = 5'000, .maximum = 200'000, .maximum_probability = 0.01};
  options.nics.dcqcn = {.g = 1.0 / 256,
                        .alpha_timer = 55 * kMicrosecond,
                        .decrease_interval = 50 * kMicrosecond,
                        .rate_timer = 55 * kMicrosecond,
                        .byte_counter = 10'000'000,
                        .fast_recovery = 5,
                        .additive = 40e6,
                        .hyper = 40e6,
                        .minimum = 40e6,
                        .cnp_interval = 50 * kMicrosecond};
  topology::Blueprint star = Star(3);
  star.host_bits_per_second = 40'000'000'000;
  Experiment experiment(star, options);
  constexpr uint64_t kEndless = 2'000'000'000;
  const QueuePair& first = experiment.Add({.from = 1, .to = 0, .bytes = kEndless});
  const QueuePair& second = experiment.Add({.from = 2, .to = 0, .bytes = kEndless});
  experiment.Run(90 * kMillisecond);
  const uint64_t before[] = {first.frames_sent(), second.frames_sent()};
  experiment.Run(100 * kMillisecond);
  const auto gigabits = [](uint64_t frames) {
    return static_cast<double>(frames) * 1048 * 8 / 10e-3 / 1e9;
  };
  const double rates[] = {gigabits(first.frames_sent() - before[0]),
                          gigabits(second.frames_sent() - before[1])};
  EXPECT_NEAR(rates[0], 20, 1.5);
  EXPECT_NEAR(rates[1], 20, 1.5);
  EXPECT_GE(rates[0] + rates[1], 39.5);
}

TEST(Validation, LateFlowGetsItsShare) {
  double first = 0;
  double second = 0;
  constexpr int kSeeds = 10;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    NetworkOptions options = Reference();
    SetA(options);
    options.seed = static_cast<uint64_t>(seed);
    Experiment experiment(Star(3), options);
    experiment.Add({.from = 1, .to = 0, .bytes = 50'000'000});
    experiment.Add({.from = 2, .to = 0, .bytes = 50'000'000, .start = kMillisecond});
    experiment.Run();
    first += static_cast<double>(experiment.durations()[0]) / kMillisecond / kSeeds;
    second += static_cast<double>(experiment.durations()[1]) / kMillisecond / kSeeds;
  }
  EXPECT_NEAR(first, 8.0, 0.3);
  EXPECT_THAT(second, AllOf(Ge(8.2), Le(9.4)));
}

// A pause lasts at most 65535 quanta of 512 bit times (IEEE 802.3, 31B.2).
class PausesThatHoldAPortShut : public ::testing::TestWithParam<std::pair<uint64_t, int>> {};

TEST_P(PausesThatHoldAPortShut, NeedTheExpectedRate) {
  const auto [gigabits, pauses] = GetParam();
  topology::Blueprint star = Star(2);
  star.host_bits_per_second = gigabits * 1'000'000'000;
  const auto frames_that_pass = [&](double pauses_per_second) {
    Experiment experiment(star, Reference());
    experiment.Add({.from = 0, .to = 1, .bytes = 50'000'000, .start = 10 * kMicrosecond});
    const Port& sender = experiment.network().nic(0).port();
    const auto interval = static_cast<SimTime>(static_cast<double>(kSecond) / pauses_per_second);
    for (SimTime at = 0; at < 100 * kMillisecond; at += interval) {
      experiment.network().engine().At(at, [&] { sender.peer()->SendPause(1u << 3, 0xffff); });
    }
    experiment.Run(100 * kMillisecond);
    return sender.counters().tx_frames;
  };
  EXPECT_EQ(frames_that_pass(pauses + 1), 0u);
  EXPECT_GT(frames_that_pass(pauses - 1), 0u);
}

INSTANTIATE_TEST_SUITE_P(Validation, PausesThatHoldAPortShut,
                         ::testing::Values(std::pair(40, 1'192), std::pair(100, 2'980),
                                           std::pair(400, 11'921)));

// Guo et al., SIGCOMM 2016, section 4.1: with a loss of one frame in 256, messages of 4 MB never
// complete if each loss restarts them.
uint64_t MessagesThroughALossyLink(Recovery recovery) {
  NetworkOptions options = Reference();
  options.nics.recovery = recovery;
  Experiment experiment(Star(2), options);
  FaultyWire wire({.probability = 1.0 / 256, .seed = 1});
  Port& sender = experiment.network().nic(0).port();
  sender.SetFault(&wire);
  const QueuePair& requester = experiment.Add({.from = 0, .to = 1, .bytes = 4'000'000});
  experiment.Run(20 * kMillisecond);
  EXPECT_GT(wire.affected(), 0u);
  return requester.bytes_acknowledged() / 4'000'000;
}

TEST(Validation, GoBackZeroNeverCompletes) {
  EXPECT_EQ(MessagesThroughALossyLink(Recovery::kGoBackZero), 0u);
}

TEST(Validation, GoBackNCompletes) { EXPECT_EQ(MessagesThroughALossyLink(Recovery::kGoBackN), 1u); }

// Pause frames received by the hosts of the leaf, and by the spines.
struct Spread {
  uint64_t near = 0;
  uint64_t beyond = 0;
};
Spread PausesUnderIncast(double alpha) {
  NetworkOptions options = Reference();
  options.nics.dcqcn.enabled = false;
  options.switches.buffer.alpha = alpha;
  Experiment experiment(
      {.shape = topology::Shape::kLeafSpine, .hosts = 32, .leaves = 4, .spines = 4}, options);
  for (uint32_t i = 1; i < 25; ++i) experiment.Add({.from = i, .to = 0, .bytes = 1'000'000});
  experiment.Run();
  Spread spread;
  const topology::Fabric& fabric = experiment.network().fabric();
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    const topology::Tier tier = fabric.node(fabric.port(port).node).tier;
    const uint64_t pauses = experiment.network().port(port).counters().pause_rx[3];
    (tier == topology::Tier::kHost ? spread.near : spread.beyond) += pauses;
  }
  return spread;
}

TEST(Validation, SmallerAlphaCausesMoreAndWiderPauses) {
  const Spread small = PausesUnderIncast(1.0 / 64);
  const Spread large = PausesUnderIncast(1.0 / 16);
  EXPECT_GT(small.near + small.beyond, large.near + large.beyond);
  EXPECT_GT(small.beyond, large.beyond);
  EXPECT_GT(small.beyond, 0u);
}

// Returns a random permutation without fixed points: each NIC sends to another one.
std::vector<uint32_t> Derangement(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> to(count);
  std::iota(to.begin(), to.end(), 0);
  Random random(seed);
  // Sattolo's algorithm
  for (uint32_t i = count - 1; i > 0; --i) std::swap(to[i], to[random.Below(i)]);
  return to;
}

TEST(Validation, PermutationHasEcmpCollisions) {
  double mean = 0;
  constexpr int kSeeds = 12;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    NetworkOptions options = Reference();
    SetA(options);
    options.seed = static_cast<uint64_t>(seed);
    Experiment experiment(
        {.shape = topology::Shape::kLeafSpine, .hosts = 128, .leaves = 8, .spines = 16}, options);
    const std::vector<uint32_t> to = Derangement(128, options.seed);
    for (uint32_t i = 0; i < 128; ++i) experiment.Add({.from = i, .to = to[i]});
    experiment.Run();
    mean += experiment.MeanMicroseconds() / kSeeds;
  }
  EXPECT_THAT(mean, AllOf(Ge(340.0), Le(465.0)));
}

}  // namespace
}  // namespace rocescope::sim::test
