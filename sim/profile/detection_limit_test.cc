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
// `lost_every` of the frames from `begin` on. Entity 0 is the sender, entity 1 the receiver, and
// entity 2 the queue between them, which is empty in idle phases.
class Link final : public ExactCounters {
 public:
  Link() {
    for (const char* node : {"leaf0", "spine0"}) {
      CounterEntity port{.kind = EntityKind::kPort, .node = node};
      port.port = "Ethernet1";
      entities_.push_back({.entity = port,
                           .node = static_cast<topology::NodeIndex>(entities_.size()),
                           .metrics = {Metric::kRxPackets, Metric::kTxPackets, Metric::kFcsErrors,
                                       Metric::kRxDiscards}});
    }
    CounterEntity queue = entities_[1].entity;
    queue.priority = 3;
    entities_.push_back({.entity = queue, .node = 1, .metrics = {Metric::kQueueBytes}});
  }
  uint64_t SentUntil(Timestamp time) const {
    const Duration run = time - kFakeBegin;
    // Idle for the last second of each ten.
    const Duration busy =
        idle ? run / seconds(10) * seconds(9) + std::min<Duration>(run % seconds(10), seconds(9))
             : run;
    return static_cast<uint64_t>(busy / milliseconds(1)) * frames_per_ms;
  }
  uint64_t QueuedAt(Timestamp time) const {
    const bool is_idle = idle && (time - kFakeBegin) % seconds(10) >= seconds(9);
    return is_idle || time < kFakeBegin + seconds(1) ? 0 : queued;
  }
  uint64_t ErroredUntil(Timestamp time) const {
    return errored_every == 0 ? 0 : SentUntil(time) / errored_every;
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
    if (entity == 2) {
      out[0] = QueuedAt(time) * kFrameBytes;
      return true;
    }
    std::fill(out.begin(), out.end(), 0);
    if (entity == 0) {
      out[1] = SentUntil(time);
      return true;
    }
    out[0] = SentUntil(time) - LostUntil(time) - ErroredUntil(time) - QueuedAt(time);
    out[2] = ErroredUntil(time);
    return true;
  }

  bool idle = false;
  Timestamp begin_of_loss = kFakeBegin + seconds(300);
  Timestamp end_of_loss = kFakeBegin + seconds(700);
  uint64_t lost_every = 100;
  uint64_t errored_every = 0;  // 0: none
  uint64_t frames_per_ms = 1;
  uint64_t queued = 0;  // frames

  static constexpr uint64_t kFrameBytes = 1000;

 private:
  std::vector<Entity> entities_;
};

// Both ends are read every 10 s; the receiver `shift` after the sender.
struct Reading {
  Duration shift{};
  Duration staleness{};
  Duration clock_error{};
  Duration restart = seconds(10'000);  // counters of both ends restart then
  uint64_t in_flight = 0;
  uint64_t most_queued = 0;
};

double LimitOf(Link& link, const Reading& reading, TransformReport report = {}) {
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
  const auto add = [&](std::vector<ReadingTime>& readings, Timestamp time) {
    const uint32_t restarts = time >= link.begin() + reading.restart ? 1 : 0;
    readings.push_back({.time = time, .exact = time, .restarts = restarts});
  };
  for (Timestamp time = link.begin() + seconds(5); time + seconds(10) < link.end();
       time += seconds(10)) {
    add(sent[0], time);
    add(received[0], time + reading.shift);
  }
  const LossWatch watch{
      .sent = {0},
      .received = {1},
      .received_metrics = {Metric::kRxPackets, Metric::kFcsErrors, Metric::kRxDiscards},
      .in_flight = reading.in_flight,
      .queues = {2},
      .frame_bytes = Link::kFrameBytes,
      .most_queued = reading.most_queued,
      .begin = link.begin_of_loss,
      .end = link.end_of_loss,
      .lost = link.LostUntil(link.end())};
  return DetectionLimit(watch, report, sent, received, link);
}

TEST(DetectionLimit, ExactReadingsAtTheSameTimeProveASingleFrame) {
  Link link;
  EXPECT_EQ(LimitOf(link, {}), 1);
  EXPECT_EQ(LimitOf(link, {.in_flight = 12}), 12) << "frames in flight look like lost frames";
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

// 4,000 frames are lost from 300 s to 700 s. A span until 495 s or from 505 s has 1,950 of them.
TEST(DetectionLimit, SpansEndWhereCountersRestart) {
  Link link;
  EXPECT_EQ(LimitOf(link, {.restart = seconds(500)}), 2050);
  EXPECT_EQ(LimitOf(link, {.restart = seconds(800)}), 1);
  EXPECT_EQ(LimitOf(link, {.shift = seconds(4), .restart = seconds(500)}), 2050 + 10'000 - 40)
      << "the receiver's readings at 299 s and 499 s";
}

TEST(DetectionLimit, SpansEndWhereA32BitCounterMayHaveWrappedUnnoticed) {
  Link link;
  TransformReport report;
  report.pollers.resize(2);
  for (const size_t side : {0, 1}) {
    const auto metric = static_cast<size_t>(side == 0 ? Metric::kTxPackets : Metric::kRxPackets);
    report.pollers[side].wrapping.set(metric);
    link.frames_per_ms = 200'000;  // 2,000 million in 10 s
    EXPECT_EQ(LimitOf(link, {}, report), 1) << side;
    link.frames_per_ms = 250'000;  // 2,500 million
    EXPECT_EQ(LimitOf(link, {}, report), kNotProvable) << side;
    report.pollers[side].wrapping.reset();
    EXPECT_EQ(LimitOf(link, {}, report), 1) << side;
  }
}

// The last reading is at 985 s, and 150 frames are lost after it.
TEST(DetectionLimit, CountedErrorsAreNoSilentLosses) {
  Link link;
  link.end_of_loss = link.end();
  EXPECT_EQ(LimitOf(link, {}), 150);
  link.errored_every = 50;
  EXPECT_EQ(LimitOf(link, {}), 150);
}

TEST(DetectionLimit, QueuedFramesAreInDoubt) {
  Link link;
  link.queued = 10;
  EXPECT_EQ(LimitOf(link, {.most_queued = 50}), 20) << "10 at each end of the span";
  TransformReport report;
  report.pollers.resize(2);
  report.pollers[1].missing.set(static_cast<size_t>(Metric::kQueueBytes));
  EXPECT_EQ(LimitOf(link, {.most_queued = 50}, report), 100) << "the queues are not read";
  link.end_of_loss = link.end();
  EXPECT_EQ(LimitOf(link, {}), 150 + 20) << "queued frames at 985 s are not lost ones";
}

// One frame in each second, from 295 s to 705 s.
TEST(DetectionLimit, HarmlessDiscardsHideAsManyLosses) {
  Link link;
  TransformReport report;
  report.pollers.resize(2);
  report.pollers[1].quirk = {.metric = Metric::kRxDiscards, .period = seconds(1)};
  EXPECT_EQ(LimitOf(link, {}, report), 410);
  report.pollers[1].quirk->metric = Metric::kTxDiscards;
  EXPECT_EQ(LimitOf(link, {}, report), 1) << "is not part of the sum";
}

TEST(DetectionLimit, WithoutReadingsOfOneEndNothingIsProvable) {
  Link link;
  TransformReport report;
  report.poller_of = {0, 1};
  report.pollers.resize(2);
  report.pollers[0].is_read = true;
  const std::vector<std::vector<ReadingTime>> some = {
      {{.time = kFakeBegin, .exact = kFakeBegin}, {.time = link.end(), .exact = link.end()}}};
  const LossWatch watch{
      .sent = {0}, .received = {1}, .begin = kFakeBegin, .end = link.end(), .lost = 5};
  EXPECT_EQ(DetectionLimit(watch, report, some, some, link), kNotProvable) << "never read";
  report.pollers[1].is_read = true;
  report.pollers[1].missing.set(static_cast<size_t>(Metric::kRxPackets));
  EXPECT_EQ(DetectionLimit(watch, report, some, some, link), kNotProvable) << "no such counter";
  report.pollers[1].missing.reset();
  EXPECT_LT(DetectionLimit(watch, report, some, some, link), kNotProvable);
  const std::vector<std::vector<ReadingTime>> one = {{some[0][0]}};
  EXPECT_EQ(DetectionLimit(watch, report, one, one, link), kNotProvable) << "no span";
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
