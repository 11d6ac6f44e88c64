// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/detection_limit.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/profile/fake_counters.h"

namespace rocescope::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A link whose sender sends 1,000 frames per second except in idle phases, and loses one in
// `lost_every` of the frames from `begin` on. Entity 0 is the sender, entity 1 the receiver.
class Link final : public ExactCounters {
 public:
  Link() {
    for (const char* node : {"leaf0", "spine0"}) {
      CounterEntity port{.kind = EntityKind::kPort, .node = node};
      port.port = "Ethernet1";
      entities_.push_back({.entity = port,
                           .node = static_cast<topology::NodeIndex>(entities_.size()),
                           .metrics = {Metric::kRxPackets, Metric::kTxPackets}});
    }
  }
  uint64_t SentUntil(Timestamp time) const {
    const Duration run = time - kFakeBegin;
    // Idle for the last second of each ten.
    const Duration busy =
        idle ? run / seconds(10) * seconds(9) + std::min<Duration>(run % seconds(10), seconds(9))
             : run;
    return static_cast<uint64_t>(busy / milliseconds(1));
  }
  uint64_t LostUntil(Timestamp time) const {
    return time <= begin_of_loss
               ? 0
               : (SentUntil(std::min(time, end_of_loss)) - SentUntil(begin_of_loss)) / lost_every;
  }

  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override { return kFakeBegin; }
  Timestamp end() const override { return kFakeBegin + seconds(1000); }
  std::vector<Outage> OutagesOf(uint32_t) const override { return {}; }
  bool Read(uint32_t entity, Timestamp, Timestamp time, std::span<uint64_t> out) override {
    out[0] = entity == 0 ? 0 : SentUntil(time) - LostUntil(time);
    out[1] = entity == 0 ? SentUntil(time) : 0;
    return true;
  }

  bool idle = false;
  Timestamp begin_of_loss = kFakeBegin + seconds(300);
  Timestamp end_of_loss = kFakeBegin + seconds(700);
  uint64_t lost_every = 100;

 private:
  std::vector<Entity> entities_;
};

// Both ends are read every 10 s; the receiver `shift` after the sender.
struct Reading {
  Duration shift{};
  Duration staleness{};
  Duration clock_error{};
};

double LimitOf(Link& link, const Reading& reading, uint64_t in_flight = 0) {
  TransformReport report;
  report.greatest_clock_error = reading.clock_error;
  report.poller_of = {0, 1};
  report.pollers.resize(2);
  for (uint32_t i = 0; i < 2; ++i) {
    report.pollers[i].node = i;
    report.pollers[i].is_read = true;
    report.pollers[i].staleness = reading.staleness;
  }
  std::vector<std::vector<ReadingTime>> sent(1);
  std::vector<std::vector<ReadingTime>> received(1);
  for (Timestamp time = link.begin() + seconds(5); time + seconds(10) < link.end();
       time += seconds(10)) {
    sent[0].push_back({.time = time, .exact = time});
    received[0].push_back({.time = time + reading.shift, .exact = time + reading.shift});
  }
  const LossWatch watch{.sent = {0},
                        .received = {1},
                        .in_flight = in_flight,
                        .begin = link.begin_of_loss,
                        .end = link.end_of_loss,
                        .lost = link.LostUntil(link.end())};
  return DetectionLimit(watch, report, sent, received, link);
}

TEST(DetectionLimit, ExactReadingsAtTheSameTimeProveASingleFrame) {
  Link link;
  EXPECT_EQ(LimitOf(link, {}), 1);
  EXPECT_EQ(LimitOf(link, {}, 12), 12) << "frames in flight look like lost frames";
}

// The receiver's reading is 4 s newer at the end; at the start the certainly older one is 6 s
// older. Together this is one period: 10,000 frames.
TEST(DetectionLimit, OnABusyLinkTheTrafficOfOnePeriodStaysHidden) {
  Link link;
  EXPECT_EQ(LimitOf(link, {.shift = seconds(4)}), 10'000);
}

TEST(DetectionLimit, StalenessAndClockErrorsWidenTheSpan) {
  Link link;
  // The receiver's reading at 4 s is no longer certainly newer, because its values may be 5 s old.
  // The next one is 14 s newer. At the start, the sender's values may be 5 s older than they are,
  // so that the receiver's reading 6 s before is certainly older.
  EXPECT_EQ(LimitOf(link, {.shift = seconds(4), .staleness = seconds(5)}), 20'000);
  EXPECT_EQ(LimitOf(link, {.shift = milliseconds(10), .clock_error = milliseconds(20)}), 20'000);
  EXPECT_EQ(LimitOf(link, {.shift = milliseconds(50), .clock_error = milliseconds(20)}), 10'000);
}

// Readings before and after an idle phase have no traffic between them. The sender is read at 5 s
// of each ten, the link is idle from 9 s on.
TEST(DetectionLimit, IdlePhasesMakeTheBoundTight) {
  Link link;
  link.idle = true;
  const double limit = LimitOf(link, {.shift = seconds(4)});
  EXPECT_EQ(limit, 9'000) << "the readings are not in the idle phases";
  Link aligned;
  aligned.idle = true;
  TransformReport report;
  report.poller_of = {0, 1};
  report.pollers.resize(2);
  for (uint32_t i = 0; i < 2; ++i) {
    report.pollers[i].node = i;
    report.pollers[i].is_read = true;
    report.pollers[i].staleness = milliseconds(300);
  }
  // In each idle phase, the receiver is read before and after the sender.
  std::vector<std::vector<ReadingTime>> sent(1);
  std::vector<std::vector<ReadingTime>> received(1);
  for (Timestamp idle = kFakeBegin + seconds(9); idle < aligned.end(); idle += seconds(10)) {
    const auto at = [&](int ms) {
      return ReadingTime{.time = idle + milliseconds(ms), .exact = idle + milliseconds(ms)};
    };
    received[0].push_back(at(50));
    sent[0].push_back(at(450));
    received[0].push_back(at(850));
  }
  const LossWatch watch{.sent = {0},
                        .received = {1},
                        .begin = aligned.begin_of_loss,
                        .end = aligned.end_of_loss,
                        .lost = aligned.LostUntil(aligned.end())};
  EXPECT_EQ(DetectionLimit(watch, report, sent, received, aligned), 1);
}

TEST(DetectionLimit, WithoutReadingsOfOneEndNothingIsProvable) {
  Link link;
  TransformReport report;
  report.poller_of = {0, 1};
  report.pollers.resize(2);
  report.pollers[0].is_read = true;
  const std::vector<std::vector<ReadingTime>> some = {{{.time = kFakeBegin, .exact = kFakeBegin}}};
  const LossWatch watch{
      .sent = {0}, .received = {1}, .begin = kFakeBegin, .end = link.end(), .lost = 5};
  EXPECT_EQ(DetectionLimit(watch, report, some, some, link), kNotProvable) << "never read";
  report.pollers[1].is_read = true;
  report.pollers[1].missing.set(static_cast<size_t>(Metric::kRxPackets));
  EXPECT_EQ(DetectionLimit(watch, report, some, some, link), kNotProvable) << "no such counter";
  report.pollers[1].missing.reset();
  EXPECT_LT(DetectionLimit(watch, report, some, some, link), kNotProvable);
  const std::vector<std::vector<ReadingTime>> none(1);
  EXPECT_EQ(DetectionLimit(watch, report, some, none, link), kNotProvable) << "all lost";
}

// A property: at a loss above the limit, the interval bound of the readings proves a loss; below
// it, it does not.
TEST(DetectionLimit, AgreesWithTheIntervalBoundOfTheReadings) {
  for (const uint64_t every : {5u, 20u, 30u, 45u, 60u, 200u}) {
    Link link;
    link.lost_every = every;
    const Reading reading{.shift = seconds(4), .staleness = seconds(3)};
    const double limit = LimitOf(link, reading);
    // The bound by brute force over all pairs of spans.
    int64_t best = INT64_MIN;
    std::vector<Timestamp> times;
    for (Timestamp t = link.begin() + seconds(5); t + seconds(10) < link.end(); t += seconds(10)) {
      times.push_back(t);
    }
    std::vector<std::pair<int64_t, int64_t>> bounds;  // sent - received at starts and ends
    for (const Timestamp s : times) {
      int64_t start = INT64_MAX;
      int64_t end = INT64_MIN;
      for (const Timestamp t : times) {
        const Timestamp r = t + reading.shift;
        const auto received = static_cast<int64_t>(link.SentUntil(r) - link.LostUntil(r));
        const int64_t difference = static_cast<int64_t>(link.SentUntil(s)) - received;
        if (r <= s - reading.staleness) start = std::min(start, difference);
        if (r - reading.staleness >= s) end = std::max(end, difference);
      }
      bounds.emplace_back(start, end);
    }
    for (size_t a = 0; a < bounds.size(); ++a) {
      for (size_t b = a; b < bounds.size(); ++b) {
        if (bounds[a].first == INT64_MAX || bounds[b].second == INT64_MIN) continue;
        best = std::max(best, bounds[b].second - bounds[a].first);
      }
    }
    const double lost = static_cast<double>(link.LostUntil(link.end()));
    EXPECT_NEAR(limit, lost - static_cast<double>(best), 1) << every;
    EXPECT_EQ(best > 0, lost > limit) << every;
  }
}

}  // namespace
}  // namespace rocescope::sim
