// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/transform.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

#include "sim/profile/poller.h"

namespace rocescope::sim {
namespace {

// A reading that arrives later than others that were read after it.
struct Delayed {
  Timestamp arrival;
  uint64_t sequence = 0;
  uint32_t number = 0;  // number in the sink
  uint32_t slot = 0;
  uint32_t count = 0;
  Timestamp time;

  friend bool operator>(const Delayed& a, const Delayed& b) {
    return std::pair(a.arrival, a.sequence) > std::pair(b.arrival, b.sequence);
  }
};

// Keeps delayed readings until they are due.
class DelayedReadings {
 public:
  DelayedReadings(size_t most_metrics, CounterSink& sink) : width_(most_metrics), sink_(sink) {}

  void Add(Timestamp arrival, uint32_t number, Timestamp time, std::span<const uint64_t> values) {
    if (free_.empty()) {
      free_.push_back(static_cast<uint32_t>(values_.size() / width_));
      values_.resize(values_.size() + width_);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    std::copy(values.begin(), values.end(), &values_[slot * width_]);
    queue_.push({.arrival = arrival,
                 .sequence = sequence_++,
                 .number = number,
                 .slot = slot,
                 .count = static_cast<uint32_t>(values.size()),
                 .time = time});
  }
  void WriteUntil(Timestamp now) {
    while (!queue_.empty() && queue_.top().arrival <= now) {
      const Delayed& next = queue_.top();
      sink_.Append(next.number, next.time, next.arrival,
                   std::span(values_).subspan(next.slot * width_, next.count));
      free_.push_back(next.slot);
      queue_.pop();
    }
  }

 private:
  const size_t width_;
  CounterSink& sink_;
  std::vector<uint64_t> values_;
  std::vector<uint32_t> free_;  // slots of `width_` values
  std::priority_queue<Delayed, std::vector<Delayed>, std::greater<>> queue_;
  uint64_t sequence_ = 0;
};

// What happens to readings between the poller and the collector.
class Path {
 public:
  Path(double scale, size_t most_metrics, CounterSink& sink, TransformReport& report)
      : scale_(scale), delayed_(most_metrics, sink), sink_(sink), report_(report) {}

  // Returns false if the reading is lost.
  bool Send(Poller& poller, PolledEntity& entity, const Poll& poll) {
    const Profile& profile = poller.profile();
    Poller::Streams& random = poller.streams();
    if (profile.lost_readings > 0 && random.loss.Chance(profile.lost_readings)) {
      ++report_.lost;
      return false;
    }
    ++report_.readings;
    if (entity.number == PolledEntity::kUnannounced) {
      entity.number = sink_.Announce(*entity.entity, entity.metrics);
    }
    const Timestamp time = poller.TimestampOf(poll);
    const Duration delay = DelayOf(poller);
    if (delay > Duration(0)) {
      delayed_.Add(poll.arrival + delay, entity.number, time, entity.values);
    } else {
      sink_.Append(entity.number, time, poll.arrival, entity.values);
    }
    if (profile.duplicates > 0 && random.duplicates.Chance(profile.duplicates)) {
      ++report_.duplicates;
      const DurationRange within = {.least = Duration(0), .most = poller.period()};
      delayed_.Add(poll.arrival + delay + DrawTime(within, random.duplicates), entity.number, time,
                   entity.values);
    }
    return true;
  }
  void WriteUntil(Timestamp now) { delayed_.WriteUntil(now); }

 private:
  Duration DelayOf(Poller& poller) {
    const Profile& profile = poller.profile();
    Poller::Streams& random = poller.streams();
    Duration delay{};
    if (profile.late > 0 && random.lateness.Chance(profile.late)) {
      ++report_.late;
      delay = DrawTime({.least = ScaledTime(profile.lateness.least, scale_),
                        .most = ScaledTime(profile.lateness.most, scale_)},
                       random.lateness);
    }
    if (profile.reordered > 0 && random.order.Chance(profile.reordered)) {
      ++report_.reordered;
      // The next reading arrives at most this much later.
      const Duration next = poller.longest_gap();
      delay += DrawTime({.least = next, .most = next + poller.period() / 4}, random.order);
    }
    return delay;
  }

  const double scale_;
  DelayedReadings delayed_;
  CounterSink& sink_;
  TransformReport& report_;
};

}  // namespace

Status CheckProfile(const ExactCounters& exact, const Profile& profile,
                    const TransformOptions& options) {
  TransformReport report;
  const auto made = MakePollers(exact, profile, options, report);
  return made ? Status() : tl::unexpected(made.error());
}

Result<TransformReport> Transform(ExactCounters& exact, const Profile& profile,
                                  const TransformOptions& options, CounterSink& sink) {
  TransformReport report;
  auto made = MakePollers(exact, profile, options, report);
  if (!made) return tl::unexpected(made.error());
  std::vector<Poller>& pollers = *made;

  size_t most_metrics = 1;
  for (const ExactCounters::Entity& entity : exact.entities()) {
    most_metrics = std::max(most_metrics, entity.metrics.size());
  }
  constexpr uint32_t kNotWatched = UINT32_MAX;
  std::vector<uint32_t> watched(exact.entities().size(), kNotWatched);  // index in the report
  for (uint32_t i = 0; i < options.watched.size(); ++i) watched[options.watched[i]] = i;
  report.watched.resize(options.watched.size());

  Path path(options.scale, most_metrics, sink, report);
  using Turn = std::pair<Timestamp, uint32_t>;  // arrival of the next poll, index of the poller
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  for (uint32_t i = 0; i < pollers.size(); ++i) turns.emplace(pollers[i].next().arrival, i);
  while (!turns.empty()) {
    const uint32_t turn = turns.top().second;
    turns.pop();
    Poller& poller = pollers[turn];
    const Poll poll = poller.next();
    if (poll.time > exact.end()) continue;
    path.WriteUntil(poll.arrival);
    poller.Take();
    if (poll.lost) {
      ++report.lost_polls;
    } else {
      poller.Read(exact);
      for (PolledEntity& entity : poller.entities()) {
        if (!entity.is_present || !path.Send(poller, entity, poll)) continue;
        const uint32_t watch = watched[entity.index];
        if (watch == kNotWatched) continue;
        report.watched[watch].push_back(
            {.time = poller.TimestampOf(poll), .exact = poll.exact, .restarts = entity.restarts});
      }
    }
    turns.emplace(poller.next().arrival, turn);
  }
  path.WriteUntil(Timestamp::max());
  for (const Poller& poller : pollers) report.pollers[poller.number()].restarts = poller.restarts();
  return report;
}

}  // namespace rocescope::sim
