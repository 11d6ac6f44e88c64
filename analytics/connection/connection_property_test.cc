// SPDX-License-Identifier: BSD-3-Clause
// Synthetic host pairs with a known truth and random loss of sightings: a confident answer must be
// right, and without loss nearly every connection must get one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "analytics/connection/connection_tracker.h"
#include "analytics/connection/sighting_builder.h"

namespace rocescope {
namespace {

constexpr double kConfident = 0.9;

struct Traffic {
  uint32_t connections = 8;
  int rounds = 40;
  double loss = 0;         // of sightings
  bool lock_step = false;  // all start at PSN 0 and send in turn; else random starts and senders
  double both_ways = 0.3;  // connections that carry requests in both directions
  int taps = 1;
  double visibility = 1;  // that a flow passes a given tap
  double own_skips = 0;   // lock step: how often a stripe sits out a round
};

struct Score {
  uint64_t connections = 0;
  uint64_t confident = 0;
  uint64_t wrong = 0;
};

class HostPairTraffic {
 public:
  HostPairTraffic(const Traffic& traffic, uint64_t seed) : traffic_(traffic), random_(seed) {
    std::set<uint32_t> used;
    const auto qpn = [&] {
      uint32_t number;
      do {
        number = 2 + Below(200);
      } while (!used.insert(number).second);
      return number;
    };
    for (uint32_t i = 0; i < traffic.connections; ++i) {
      const TrueConnection c{
          .a = Host(1), .b = Host(2), .a_qpn = qpn(), .b_qpn = qpn(), .segment = 0};
      truth_.push_back(c);
      both_ways_.push_back(Chance(traffic.both_ways));
      next_psn_.push_back(
          {traffic.lock_step ? 0 : Below(1 << 24), traffic.lock_step ? 0 : Below(1 << 24)});
      for (const FlowKey& flow : {c.ToA(), c.ToB()}) {
        for (TapId tap = 0; tap < traffic.taps; ++tap) {
          if (Chance(traffic.visibility)) passes_.insert({flow.destination_qpn.value, tap});
        }
      }
    }
  }

  Score Run() {
    int64_t time = 0;
    for (int round = 0; round < traffic_.rounds; ++round) {
      for (uint32_t i = 0; i < traffic_.connections; ++i) {
        const uint32_t which = traffic_.lock_step ? i : Below(traffic_.connections);
        if (Chance(traffic_.own_skips)) continue;
        Message(which, false, time += 1 + Below(5));
        if (both_ways_[which]) Message(which, true, time += 1 + Below(5));
      }
      time += traffic_.lock_step ? 60 : Below(20);
    }
    Deliver();
    return Judge();
  }

 private:
  uint32_t Below(uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_);
  }
  bool Chance(double p) { return std::uniform_real_distribution<double>(0, 1)(random_) < p; }

  // A SEND of some packets whose last one is acknowledged 5 to 40 µs later.
  void Message(uint32_t which, bool reverse, int64_t time) {
    const TrueConnection c = reverse ? truth_[which].Reversed() : truth_[which];
    uint32_t& psn = reverse ? next_psn_[which].second : next_psn_[which].first;
    const uint32_t packets = traffic_.lock_step ? 1 : 1 + Below(4);
    for (uint32_t i = 0; i + 1 < packets; ++i) {
      Put(Sighting(c.ToB(), time).Request(kWriteMiddle, psn, false));
      psn = (psn + 1) & k24BitMask;
    }
    Put(Sighting(c.ToB(), time).Request(kSendOnly, psn));
    Put(Sighting(c.ToA(), time + 5 + Below(36)).Ack(psn));
    psn = (psn + 1) & k24BitMask;
  }

  void Put(SightingRecord record) {
    for (TapId tap = 0; tap < traffic_.taps; ++tap) {
      if (!passes_.contains({record.flow.destination_qpn.value, tap})) continue;
      if (Chance(traffic_.loss)) continue;
      record.tap = tap;
      records_.push_back(record);
    }
  }

  void Deliver() {
    std::stable_sort(records_.begin(), records_.end(),
                     [](const auto& a, const auto& b) { return a.event_time < b.event_time; });
    for (const SightingRecord& record : records_) tracker_.Add(record);
  }

  Score Judge() const {
    Score score{.connections = traffic_.connections};
    for (const Connection& found : tracker_.Connections()) {
      if (found.confidence < kConfident) continue;
      const uint32_t a = found.endpoints[0].qpn->value;
      const uint32_t b = found.endpoints[1].qpn->value;
      const bool right = std::any_of(truth_.begin(), truth_.end(), [&](const TrueConnection& c) {
        return c.a_qpn == a && c.b_qpn == b;
      });
      ++(right ? score.confident : score.wrong);
    }
    return score;
  }

  Traffic traffic_;
  std::mt19937_64 random_;
  std::vector<TrueConnection> truth_;
  std::vector<bool> both_ways_;
  std::vector<std::pair<uint32_t, uint32_t>> next_psn_;
  std::set<std::pair<uint32_t, TapId>> passes_;  // destination QPN, tap
  std::vector<SightingRecord> records_;
  ConnectionTracker tracker_;
};

Score RunMany(Traffic traffic, int times, uint64_t seed) {
  Score sum;
  std::mt19937_64 random(seed);
  const uint32_t most = traffic.connections;
  for (int i = 0; i < times; ++i) {
    traffic.connections = 1 + static_cast<uint32_t>(random() % most);
    const Score score = HostPairTraffic(traffic, random()).Run();
    sum.connections += score.connections;
    sum.confident += score.confident;
    sum.wrong += score.wrong;
  }
  std::printf("%llu connections, %llu confident, %llu wrong\n",
              static_cast<unsigned long long>(sum.connections),
              static_cast<unsigned long long>(sum.confident),
              static_cast<unsigned long long>(sum.wrong));
  return sum;
}

TEST(ConnectionProperty, WithoutLossNearlyAllAreConfidentAndNoneIsWrong) {
  const Score score = RunMany({.connections = 16}, 150, 1);

  EXPECT_EQ(score.wrong, 0u);
  EXPECT_GE(static_cast<double>(score.confident), 0.99 * static_cast<double>(score.connections));
}

TEST(ConnectionProperty, LossMakesNoConfidentAnswerWrong) {
  for (const double loss : {0.05, 0.1, 0.2, 0.3}) {
    const Score score = RunMany({.connections = 16, .loss = loss}, 100, 2);

    EXPECT_EQ(score.wrong, 0u) << loss;
    EXPECT_GE(static_cast<double>(score.confident), 0.9 * static_cast<double>(score.connections))
        << loss;
  }
}

TEST(ConnectionProperty, LockStepWithLossIsNotMistakenForEvidence) {
  for (const double loss : {0.0, 0.1, 0.3}) {
    for (const int rounds : {10, 100, 1000}) {
      const Score score = RunMany(
          {.connections = 6, .rounds = rounds, .loss = loss, .lock_step = true, .both_ways = 0}, 60,
          3);

      EXPECT_EQ(score.wrong, 0u) << loss << " " << rounds;
    }
  }
}

// Stripes that sometimes sit out a round drift apart, and the echo then tells them apart.
TEST(ConnectionProperty, StripesThatDriftApartAreToldApart) {
  const Score score = RunMany(
      {.connections = 6, .rounds = 3000, .lock_step = true, .both_ways = 0.5, .own_skips = 0.1}, 30,
      4);

  EXPECT_EQ(score.wrong, 0u);
  EXPECT_GE(static_cast<double>(score.confident), 0.9 * static_cast<double>(score.connections));
}

TEST(ConnectionProperty, TapsThatSeeSomeOfTheFlowsMakeNoConfidentAnswerWrong) {
  for (const double visibility : {0.9, 0.7, 0.5}) {
    const Score score =
        RunMany({.connections = 10, .loss = 0.05, .taps = 3, .visibility = visibility}, 100, 5);

    EXPECT_EQ(score.wrong, 0u) << visibility;
  }
}

TEST(ConnectionProperty, LockStepOfWhichTapsSeePartsIsNotMistakenForEvidence) {
  for (const double visibility : {0.9, 0.7, 0.5}) {
    for (const uint32_t connections : {2u, 4u, 8u}) {
      const Score score = RunMany({.connections = connections,
                                   .rounds = 100,
                                   .loss = 0.05,
                                   .lock_step = true,
                                   .both_ways = 0,
                                   .taps = 2,
                                   .visibility = visibility},
                                  100, 6);

      EXPECT_EQ(score.wrong, 0u) << visibility << " " << connections;
    }
  }
}

}  // namespace
}  // namespace rocescope
