// SPDX-License-Identifier: BSD-3-Clause
// Stripes in lock step from PSN 0 on, distinguished by packet order at the responder's own switch;
// the ports of one switch are one observer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "analytics/connection/connection_tracker.h"
#include "analytics/connection/observation_builder.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

// host0 at leaf0 and host1 at leaf1, as generate.h defines them: addresses 10.0.0.1 and 10.0.0.2,
// ERSPAN sources 172.16.0.1 and 172.16.0.2.
const topology::Fabric& TwoLeaves() {
  static const topology::Fabric fabric =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 4}).value();
  return fabric;
}

TapLocation PortOf(TapId tap, uint32_t leaf, uint32_t port) {
  return {.tap = tap,
          .switch_address =
              TwoLeaves().node(TwoLeaves().FindNode(leaf == 0 ? "leaf0" : "leaf1")).erspan_source,
          .session = 1,
          .side = TapSide::kIngress,
          .has_port = true,
          .port = port};
}

class ConnectionOrder : public testing::Test {
 protected:
  static constexpr size_t kStripes = 3;

  ConnectionOrder() {
    for (uint32_t i = 0; i < kStripes; ++i) {
      // The numbers do not indicate which flows belong together.
      stripes_.push_back({.a = Host(1), .b = Host(2), .a_qpn = 100 + i, .b_qpn = 900 - i * 3});
    }
  }

  // Taps 1 and 2 are leaf1's ports to host1 and spine0.
  void LearnTaps(bool with_fabric, uint32_t leaf = 1) {
    if (with_fabric) tracker_.SetFabric(TwoLeaves());
    tracker_.LearnTap(PortOf(1, leaf, 1));
    tracker_.LearnTap(PortOf(2, leaf, 2));
  }

  // A message split over all stripes, with the same PSN on each: requests arrive in some order and
  // are answered in that order. Near the responder, requests have passed two switches.
  void Message(uint32_t psn, int64_t time, uint8_t request_ttl = 62, uint8_t response_ttl = 64) {
    std::vector<size_t> order = {0, 1, 2};
    std::ranges::shuffle(order, dice_);
    for (size_t i = 0; i < kStripes; ++i) {
      Add(2, request_ttl,
          Observation(stripes_[order[i]].ToB(), time + static_cast<int64_t>(i))
              .Request(kSendOnly, psn));
    }
    for (size_t i = 0; i < kStripes; ++i) {
      Add(1, response_ttl,
          Observation(stripes_[order[i]].ToA(), time + 5 + static_cast<int64_t>(i)).Ack(psn));
    }
  }
  void Add(TapId tap, uint8_t ttl, ObservationRecord record) {
    record.tap = tap;
    record.ttl = ttl;
    tracker_.Add(record);
  }

  // Reported pairs: correct ones, and all.
  std::pair<size_t, size_t> RightOfStated() const { return RightOfStated(tracker_); }
  std::pair<size_t, size_t> RightOfStated(const ConnectionTracker& tracker) const {
    size_t right = 0;
    size_t stated = 0;
    for (const Connection& c : tracker.Connections()) {
      if (c.state != ConnectionState::kPaired) continue;
      ++stated;
      right += std::ranges::any_of(stripes_, [&](const TrueConnection& truth) {
        return c.endpoints[0].qpn == Qpn{truth.a_qpn} && c.endpoints[1].qpn == Qpn{truth.b_qpn};
      });
    }
    return {right, stated};
  }

  TestTracker tracker_;
  std::vector<TrueConnection> stripes_;
  std::mt19937 dice_{1};
};

using Counts = std::pair<size_t, size_t>;

TEST_F(ConnectionOrder, SeparatesStripesAtTheRespondersSwitch) {
  LearnTaps(true);
  for (uint32_t psn = 0; psn < 20; ++psn) Message(psn, psn * 100);
  EXPECT_EQ(RightOfStated(), Counts(3, 3));
}

TEST_F(ConnectionOrder, UsesTtlsWithoutATopology) {
  LearnTaps(false);
  for (uint32_t psn = 0; psn < 20; ++psn) Message(psn, psn * 100);
  EXPECT_EQ(RightOfStated(), Counts(3, 3));
}

TEST_F(ConnectionOrder, DrawsNoConclusionFromEqualTtls) {
  LearnTaps(false);
  for (uint32_t psn = 0; psn < 20; ++psn) Message(psn, psn * 100, 64, 64);
  EXPECT_EQ(RightOfStated().second, 0u);
}

// Responses may overtake each other on their way back: at the requester's switch, order is no
// proof.
TEST_F(ConnectionOrder, ReportsNothingAtTheRequestersSwitch) {
  LearnTaps(true, 0);
  for (uint32_t psn = 0; psn < 20; ++psn) Message(psn, psn * 100, 64, 62);
  EXPECT_EQ(RightOfStated().second, 0u);
}

TEST_F(ConnectionOrder, ToleratesTwentyPercentMirrorLoss) {
  LearnTaps(true);
  std::bernoulli_distribution lost(0.2);
  for (uint32_t psn = 0; psn < 200; ++psn) {
    for (size_t i = 0; i < kStripes; ++i) {
      if (lost(dice_)) continue;
      Add(2, 62,
          Observation(stripes_[i].ToB(), psn * 100 + static_cast<int64_t>(i))
              .Request(kSendOnly, psn));
    }
    for (size_t i = 0; i < kStripes; ++i) {
      if (lost(dice_)) continue;
      Add(1, 64, Observation(stripes_[i].ToA(), psn * 100 + 5 + static_cast<int64_t>(i)).Ack(psn));
    }
  }
  const auto [right, stated] = RightOfStated();
  EXPECT_EQ(right, stated);
  EXPECT_EQ(stated, 3u);
}

// Equal numbers of different requests and responses may be lost; if the records show that the
// mirror loses packets, only complete groups count.
TEST_F(ConnectionOrder, NeedsFewMessagesDespiteTwentyPercentMirrorLoss) {
  size_t all_right = 0;
  constexpr int kRuns = 40;
  for (int run = 0; run < kRuns; ++run) {
    SCOPED_TRACE(run);
    TestTracker tracker;
    tracker.SetFabric(TwoLeaves());
    for (const uint32_t tap : {1u, 2u}) tracker.LearnTap(PortOf(tap, 1, tap));
    dice_.seed(static_cast<uint32_t>(run));
    std::bernoulli_distribution lost(0.2);
    const auto add = [&](TapId tap, uint8_t ttl, ObservationRecord record) {
      record.tap = tap;
      record.ttl = ttl;
      if (!lost(dice_)) tracker.Add(record);
    };
    for (uint32_t psn = 0; psn < 40; ++psn) {
      for (size_t i = 0; i < kStripes; ++i) {
        const int64_t at = psn * 300 + static_cast<int64_t>(i);
        add(2, 62, Observation(stripes_[i].ToB(), at).Request(kSendOnly, psn));
        add(1, 64, Observation(stripes_[i].ToA(), at + 5).Ack(psn));
      }
      if (psn % 10 != 9) continue;
      for (const TrueConnection& stripe : stripes_) {
        tracker.Add({.flow = stripe.ToB(),
                     .tap = 2,
                     .ttl = 62,
                     .interval_start = At(psn * 300),
                     .first_seen = At(psn * 300),
                     .last_seen = At(psn * 300),
                     .packets = 8,
                     .requests = {.missing = 2, .valid = true, .last_psn = psn}});
      }
    }
    const auto [right, stated] = RightOfStated(tracker);
    EXPECT_EQ(right, stated);
    all_right += right == kStripes;
  }
  EXPECT_GE(all_right, 36u);
}

// A copy of a request from another session of the switch is not a second request.
TEST_F(ConnectionOrder, CountsCopiesOfOneSwitchOnce) {
  LearnTaps(true);
  tracker_.LearnTap(PortOf(3, 1, 3));
  for (uint32_t psn = 0; psn < 20; ++psn) {
    for (size_t i = 0; i < kStripes; ++i) {
      for (const TapId tap : {TapId{2}, TapId{3}}) {
        Add(tap, 62,
            Observation(stripes_[i].ToB(), psn * 100 + static_cast<int64_t>(i))
                .Request(kSendOnly, psn));
      }
    }
    for (size_t i = 0; i < kStripes; ++i) {
      Add(1, 64, Observation(stripes_[i].ToA(), psn * 100 + 5 + static_cast<int64_t>(i)).Ack(psn));
    }
  }
  EXPECT_EQ(RightOfStated(), Counts(3, 3));
}

}  // namespace
}  // namespace rocescope
