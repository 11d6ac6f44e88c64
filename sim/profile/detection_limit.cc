// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/detection_limit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace rocescope::sim {
namespace {

// If a 32-bit counter grows by this much or more between two readings, it may have wrapped or have
// had a restart.
constexpr uint64_t kLongestStep = uint64_t{1} << 31;

// A reading of one side of the watch, and bounds of its exact time that the collector knows.
struct Instant {
  Timestamp exact;
  Timestamp least;  // the exact time is certainly not earlier
  Timestamp most;   // the exact time is certainly not later
  uint32_t restarts = 0;
  uint32_t segment = 0;  // differences between two segments are not known
};

// The readings of all entities of a side; of several entities, those that were read in one poll.
std::vector<Instant> MakeInstants(std::span<const std::vector<ReadingTime>> readings,
                                  const PollerReport& poller, Duration clock_error) {
  std::vector<Instant> instants;
  if (readings.empty()) return instants;
  for (const ReadingTime& first : readings.front()) {
    uint32_t restarts = first.restarts;
    const bool in_all = std::all_of(readings.begin() + 1, readings.end(), [&](const auto& others) {
      const auto at = std::lower_bound(
          others.begin(), others.end(), first,
          [](const ReadingTime& a, const ReadingTime& b) { return a.time < b.time; });
      if (at == others.end() || at->time != first.time || at->exact != first.exact) return false;
      restarts += at->restarts;
      return true;
    });
    if (!in_all) continue;
    instants.push_back({.exact = first.exact,
                        .least = first.time - poller.staleness - clock_error,
                        .most = first.time + clock_error,
                        .restarts = restarts});
  }
  return instants;
}

// Reads one side at increasing times, and divides its readings into segments.
class Side {
 public:
  Side(ExactCounters& exact, std::span<const uint32_t> entities, std::span<const Metric> metrics,
       const PollerReport& poller, std::vector<Instant> instants)
      : exact_(exact), instants_(std::move(instants)) {
    for (const uint32_t entity : entities) {
      const std::vector<Metric>& all = exact.entities()[entity].metrics;
      for (const Metric metric : metrics) {
        const auto at = std::find(all.begin(), all.end(), metric);
        if (at == all.end()) {
          is_complete_ = is_complete_ && metric != metrics.front();
          continue;
        }
        counters_.push_back({.entity = entity,
                             .position = static_cast<size_t>(at - all.begin()),
                             .wraps = poller.wrapping[static_cast<size_t>(metric)]});
      }
    }
  }

  std::span<const Instant> instants() const { return instants_; }

  // The sum of all counters; nullopt if a device reports nothing.
  std::optional<uint64_t> Read(Timestamp time) {
    if (!is_complete_) return std::nullopt;
    uint64_t sum = 0;
    uint32_t entity = UINT32_MAX;
    for (Counter& counter : counters_) {
      if (counter.entity != entity) {
        entity = counter.entity;
        values_.resize(exact_.entities()[entity].metrics.size());
        if (!exact_.Read(entity, time, time, values_)) return std::nullopt;
      }
      counter.now = values_[counter.position];
      sum += counter.now;
    }
    for (; next_ < instants_.size() && instants_[next_].exact <= time; ++next_) Divide();
    return sum;
  }

 private:
  struct Counter {
    uint32_t entity = 0;
    size_t position = 0;  // in the entity's values
    bool wraps = false;
    uint64_t now = 0;
    uint64_t before = 0;  // at the previous instant
  };

  void Divide() {
    Instant& instant = instants_[next_];
    bool is_new = next_ > 0 && instant.restarts != instants_[next_ - 1].restarts;
    for (Counter& counter : counters_) {
      is_new |= next_ > 0 && counter.wraps && counter.now - counter.before >= kLongestStep;
      counter.before = counter.now;
    }
    segment_ += is_new ? 1 : 0;
    instant.segment = segment_;
  }

  ExactCounters& exact_;
  std::vector<Instant> instants_;  // in order of time
  std::vector<Counter> counters_;  // those of an entity follow each other
  std::vector<uint64_t> values_;
  bool is_complete_ = true;
  size_t next_ = 0;  // the next instant to be assigned to a segment
  uint32_t segment_ = 0;
};

// Sums of both sides at given times. nullopt at times at which a device reports nothing.
struct Counts {
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t queued = 0;  // estimated
};
using CountsAt = std::map<Timestamp, std::optional<Counts>>;

uint64_t QueuedAt(const LossWatch& watch, ExactCounters& exact, Timestamp time,
                  std::vector<uint64_t>& values) {
  double bytes = 0;
  for (const uint32_t index : watch.queues) {
    const std::vector<Metric>& metrics = exact.entities()[index].metrics;
    values.resize(metrics.size());
    if (!exact.Read(index, time, time, values)) continue;
    const auto at = std::find(metrics.begin(), metrics.end(), Metric::kQueueBytes);
    if (at != metrics.end()) bytes += static_cast<double>(values[at - metrics.begin()]);
  }
  return static_cast<uint64_t>(std::ceil(bytes / watch.frame_bytes));
}

void ReadCounts(const LossWatch& watch, ExactCounters& exact, Side& from, Side& to,
                CountsAt& counts) {
  std::vector<uint64_t> values;
  for (auto& [time, at] : counts) {
    const auto sent = from.Read(time);
    const auto received = to.Read(time);
    if (!sent || !received) continue;
    at = Counts{
        .sent = *sent, .received = *received, .queued = QueuedAt(watch, exact, time, values)};
  }
}

bool Lacks(const PollerReport& poller, Metric metric) {
  return !poller.is_read || poller.missing[static_cast<size_t>(metric)];
}

// Finds the span of the readings that proves a loss with the fewest lost frames.
class Search {
 public:
  Search(const LossWatch& watch, const PollerReport& receiver, Timestamp begin, CountsAt& counts)
      : watch_(watch), receiver_(receiver), begin_(begin), counts_(counts) {
    if (const auto& at = counts_[watch.begin]) before_ = Missing(*at);
    // Less than `watch.lost` if the fault also affects the other direction.
    const auto& at_end = counts_[watch.end];
    lost_here_ = at_end ? LostAt(*at_end) : static_cast<double>(watch.lost);
  }

  double Find(std::span<const Instant> from, std::span<const Instant> to) {
    double limit = kNotProvable;
    for (const Instant& at : from) {
      const auto& sent_at = counts_[at.exact];
      if (!sent_at) continue;
      // The last reading of the receiver that is certainly older.
      const auto older = std::partition_point(
          to.begin(), to.end(), [&](const Instant& instant) { return instant.most <= at.least; });
      if (older != to.begin()) AddStart(at, *sent_at, *(older - 1));
      // The first one that is certainly newer.
      const auto newer = std::partition_point(
          to.begin(), to.end(), [&](const Instant& instant) { return instant.least < at.most; });
      if (newer != to.end()) limit = std::min(limit, LimitUntil(at, *sent_at, *newer));
    }
    return limit;
  }

 private:
  // The start of a span, s0 and r0.
  struct Start {
    double hidden = 0;  // frames that it hides, including those lost before r0
    double lost = 0;    // frames lost before r0
  };

  int64_t Missing(const Counts& at) const {
    return static_cast<int64_t>(at.sent - at.received - at.queued);
  }
  double LostAt(const Counts& at) const {
    return std::clamp(static_cast<double>(Missing(at) - before_), 0.0,
                      static_cast<double>(watch_.lost));
  }
  // Frames lost here by this fault until a time.
  double LostUntil(Timestamp time, const Counts& at) const {
    return time <= watch_.begin ? 0.0 : time >= watch_.end ? lost_here_ : LostAt(at);
  }
  double Queued(const Counts& at) const {
    const bool is_known = !Lacks(receiver_, Metric::kQueueBytes);
    return static_cast<double>(is_known ? at.queued : watch_.most_queued);
  }
  // Frames that the receiver counts as dropped although they never were on the link.
  double HarmlessUntil(Timestamp time) const {
    if (!receiver_.quirk) return 0;
    const Quirk& quirk = *receiver_.quirk;
    const auto& metrics = watch_.received_metrics;
    if (std::find(metrics.begin(), metrics.end(), quirk.metric) == metrics.end()) return 0;
    return static_cast<double>(watch_.received.size()) *
           static_cast<double>((time - begin_).count()) / static_cast<double>(quirk.period.count());
  }

  void AddStart(const Instant& s0, const Counts& sent, const Instant& r0) {
    const auto& received = counts_[r0.exact];
    if (!received) return;
    Start start{.lost = LostUntil(r0.exact, *received)};
    if (start.lost >= lost_here_) return;  // no frame is lost afterwards
    start.hidden = static_cast<double>(sent.sent - received->sent) + start.lost +
                   Queued(*received) - HarmlessUntil(r0.exact);
    Start& best = starts_.try_emplace({s0.segment, r0.segment}, start).first->second;
    if (start.hidden < best.hidden) best = start;
  }

  // With the best of the starts before.
  double LimitUntil(const Instant& s1, const Counts& sent, const Instant& r1) {
    const auto start = starts_.find({s1.segment, r1.segment});
    const auto& received = counts_[r1.exact];
    if (start == starts_.end() || !received) return kNotProvable;
    const double lost = LostUntil(r1.exact, *received);
    if (lost <= start->second.lost) return kNotProvable;  // no frame is lost in the span
    return start->second.hidden + static_cast<double>(received->sent - sent.sent) +
           static_cast<double>(watch_.lost) - lost + Queued(*received) + HarmlessUntil(r1.exact);
  }

  const LossWatch& watch_;
  const PollerReport& receiver_;
  const Timestamp begin_;  // start of the run
  CountsAt& counts_;
  int64_t before_ = 0;    // frames missing when the fault begins
  double lost_here_ = 0;  // until the fault ends
  // The start that hides the fewest frames, by the segments of s0 and r0.
  std::map<std::pair<uint32_t, uint32_t>, Start> starts_;
};

}  // namespace

double DetectionLimit(const LossWatch& watch, const TransformReport& report,
                      std::span<const std::vector<ReadingTime>> sent,
                      std::span<const std::vector<ReadingTime>> received, ExactCounters& exact) {
  if (watch.sent.empty() || watch.received.empty()) return kNotProvable;
  const PollerReport& sender = report.pollers[report.poller_of[watch.sent.front()]];
  const PollerReport& receiver = report.pollers[report.poller_of[watch.received.front()]];
  if (Lacks(sender, watch.sent_metric) || Lacks(receiver, watch.received_metrics.front())) {
    return kNotProvable;
  }
  // The readings of one device have the same clock.
  const Duration clock_error =
      sender.node == receiver.node ? Duration(0) : report.greatest_clock_error;
  Side from(exact, watch.sent, std::span(&watch.sent_metric, 1), sender,
            MakeInstants(sent, sender, clock_error));
  Side to(exact, watch.received, watch.received_metrics, receiver,
          MakeInstants(received, receiver, clock_error));

  CountsAt counts = {{watch.begin, std::nullopt}, {watch.end, std::nullopt}};
  for (const Side* side : {&from, &to}) {
    for (const Instant& instant : side->instants()) counts.try_emplace(instant.exact);
  }
  ReadCounts(watch, exact, from, to, counts);
  const double limit =
      Search(watch, receiver, exact.begin(), counts).Find(from.instants(), to.instants());
  if (limit >= kNotProvable) return kNotProvable;
  // At the ends of the span, frames in flight count as sent and not as received.
  return std::max(1.0, limit + static_cast<double>(watch.in_flight));
}

}  // namespace rocescope::sim
