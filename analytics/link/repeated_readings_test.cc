// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/repeated_readings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace rocescope {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// A job sends over a link in iterations: for some seconds, then not. Two pollers read the ends
// every 10 s, the second one some seconds later and through a cache.
struct Traffic {
  double iteration = 3.7;   // seconds
  double busy = 2.2;        // seconds of each iteration
  double rate = 1e6;        // frames per second while it sends
  double rate_other = 4e5;  // in the other direction
  double changes = kNever;  // seconds; then the job is another one with longer iterations
  double loss = 0;          // fraction of the frames
  double onset = 1000;      // of the loss
  double end = kNever;      // of the loss
  double cache = 4;         // seconds

  double Busy(double time) const {
    const auto until = [](double t, double period, double share) {
      return std::floor(t / period) * share + std::min(std::fmod(t, period), share);
    };
    if (time < changes) return until(time, iteration, busy);
    return until(changes, iteration, busy) + until(time - changes, iteration * 1.3, busy * 1.1);
  }
  uint64_t Sent(double time) const { return static_cast<uint64_t>(rate * Busy(time)); }
  uint64_t Other(double time) const { return static_cast<uint64_t>(rate_other * Busy(time)); }
  uint64_t Lost(double time) const {
    if (time <= onset) return 0;
    return static_cast<uint64_t>(loss * rate * (Busy(std::min(time, end)) - Busy(onset)));
  }
};

RepeatedReadings Read(const Traffic& traffic, double duration, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> jitter(0, 0.5);
  const double phase = std::uniform_real_distribution<double>(0, 3)(random);
  RepeatedReadings readings;
  double first = 0;  // moments of the values
  double second = 0;
  for (int i = 1; 10 * i < duration; ++i) {
    for (const bool is_first : {true, false}) {
      const double time = 10 * i + (is_first ? 0 : phase) + jitter(random);
      if (is_first) {
        first = time;
      } else {
        second = std::floor(time / traffic.cache) * traffic.cache;
      }
      readings.Add(
          {.missing = static_cast<int64_t>(traffic.Sent(first) - traffic.Sent(second) +
                                           traffic.Lost(second)),
           .missing_other = static_cast<int64_t>(traffic.Other(second) - traffic.Other(first)),
           .time = Timestamp(Duration(static_cast<int64_t>(time * 1e9))),
           .sent = traffic.Sent(first),
           .received = traffic.Sent(second) - traffic.Lost(second)});
      if (i == 90) readings.OnIdle(0);
    }
  }
  return readings;
}

TEST(RepeatedReadings, AHealthyLinkLosesNothing) {
  for (uint32_t seed = 0; seed < 20; ++seed) EXPECT_EQ(Read({}, 86'400, seed).lost(), 0u) << seed;
}

TEST(RepeatedReadings, PausesOfTheTrafficShowEachLostFrame) {
  const Traffic traffic = {.loss = 1e-5, .end = 3000};
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RepeatedReadings readings = Read(traffic, 10'000, seed);
    EXPECT_EQ(readings.lost(), traffic.Lost(4000)) << seed;
    EXPECT_LE(readings.intact().time.time_since_epoch(), std::chrono::seconds(1010)) << seed;
    EXPECT_GE(readings.intact().time.time_since_epoch(), std::chrono::seconds(500)) << seed;
  }
}

TEST(RepeatedReadings, AFewFramesLostFromTimeToTimeAreFound) {
  const Traffic traffic = {.loss = 1e-8};
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const RepeatedReadings readings = Read(traffic, 40'000, seed);
    EXPECT_GE(readings.lost(), traffic.Lost(20'000)) << seed;
    EXPECT_LE(readings.lost(), traffic.Lost(40'000)) << seed;
  }
}

// The frames between two readings change, and with them all differences.
TEST(RepeatedReadings, AnotherJobIsNoLoss) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(Read({.changes = 2000}, 10'000, seed).lost(), 0u) << seed;
  }
}

// The other direction then says nothing about the moments of the readings.
TEST(RepeatedReadings, TrafficInOneDirectionShowsNothing) {
  for (const double busy : {0.1, 0.5, 2.2, 3.5}) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
      EXPECT_EQ(Read({.busy = busy, .rate_other = 0}, 86'400, seed).lost(), 0u) << seed;
      // A few frames, such as LLDP.
      EXPECT_EQ(Read({.busy = busy, .rate_other = 0.05}, 86'400, seed).lost(), 0u) << seed;
      EXPECT_EQ(Read({.busy = busy, .rate_other = 10}, 86'400, seed).lost(), 0u) << seed;
    }
  }
}

// Adds readings with the same difference of the other direction.
class Repetitions {
 public:
  void Add(int64_t missing, uint64_t frames, int times) {
    for (int i = 0; i < times; ++i) {
      sent_ += frames;
      time_ += std::chrono::seconds(10);
      readings_.Add({.missing = missing, .missing_other = 7, .time = time_, .sent = sent_});
    }
  }
  RepeatedReadings& readings() { return readings_; }

 private:
  RepeatedReadings readings_;
  uint64_t sent_ = 0;
  Timestamp time_;
};

// Polls drift through the iterations, until all frames of one are between the two readings.
TEST(RepeatedReadings, AnIterationOnTheWayIsNoLoss) {
  Repetitions repetitions;
  repetitions.readings().OnIdle(0);
  repetitions.Add(0, 1'000'000, 20);
  repetitions.Add(400'000, 1'000'000, 100);
  EXPECT_EQ(repetitions.readings().lost(), 0u);
}

// Readings without traffic say nothing about those with traffic.
TEST(RepeatedReadings, KeepaliveFramesAreNoTraffic) {
  Repetitions repetitions;
  repetitions.readings().OnIdle(0);
  repetitions.Add(0, 1, 1000);
  repetitions.Add(50, 1'000'000, 2100);
  EXPECT_EQ(repetitions.readings().lost(), 0u);
}

// What seemed to be lost has arrived.
TEST(RepeatedReadings, AnIdleTimeRefutesALoss) {
  RepeatedReadings readings;
  readings.OnIdle(500);
  for (uint64_t i = 0; i < 40; ++i) {
    readings.Add({.missing = i < 20 ? 500 : 600,
                  .missing_other = 7,
                  .time = Timestamp(std::chrono::seconds(10 * i)),
                  .sent = 100'000 * i});
  }
  EXPECT_EQ(readings.lost(), 100u);
  EXPECT_FALSE(readings.OnIdle(600)) << "it was lost";
  EXPECT_EQ(readings.lost(), 100u);
  EXPECT_TRUE(readings.OnIdle(640)) << "only 40 since the previous idle time";
  EXPECT_EQ(readings.lost(), 0u);
}

TEST(RepeatedReadings, AFewFramesThatOneEndCountsTwiceAreNoLoss) {
  RepeatedReadings readings;
  uint64_t sent = 0;
  const auto repeat = [&](int64_t missing, int times) {
    for (int i = 0; i < times; ++i) {
      sent += 100'000;
      readings.Add({.missing = missing, .missing_other = 7, .sent = sent, .received = sent});
    }
  };
  repeat(500, 10);
  readings.OnIdle(500);
  repeat(503, 20);
  EXPECT_EQ(readings.lost(), 0u);
  repeat(520, 7);
  EXPECT_EQ(readings.lost(), 0u) << "too few";
  repeat(520, 1);
  EXPECT_EQ(readings.lost(), 17u) << "since the readings that settled at 503";
  EXPECT_EQ(readings.intact().missing, 503);
}

TEST(RepeatedReadings, ALossThatVanishesWasNone) {
  RepeatedReadings readings;
  uint64_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    sent += 1'000'000;
    const int64_t missing = 500 + (i % 4 == 0 ? i % 50 : 0);
    readings.Add({.missing = missing, .missing_other = 7, .sent = sent, .received = sent});
    readings.OnIdle(500);
  }
  EXPECT_EQ(readings.lost(), 0u);
}

}  // namespace
}  // namespace rocescope
