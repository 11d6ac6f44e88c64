// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/poller.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rocescope::sim {

Poller::Poller(const Options& options, std::vector<PolledEntity> entities)
    : options_(options),
      schedule_(options.schedule),
      streams_{.loss = Random(options.schedule.seed, "reading loss", options.schedule.number),
               .lateness = Random(options.schedule.seed, "lateness", options.schedule.number),
               .order = Random(options.schedule.seed, "reordering", options.schedule.number),
               .duplicates = Random(options.schedule.seed, "duplicates", options.schedule.number),
               .restarts = Random(options.schedule.seed, "restarts", options.schedule.number)},
      entities_(std::move(entities)),
      since_(options.schedule.begin),
      exact_time_(options.schedule.begin) {
  next_restart_ = options.schedule.begin;
  DrawRestart();
}

void Poller::DrawRestart() {
  if (options_.restarts_per_ns <= 0) {
    next_restart_ = Timestamp::max();
    return;
  }
  const double wait = -std::log1p(-streams_.restarts.Uniform()) / options_.restarts_per_ns;
  constexpr double kLongest = 1e18;  // beyond the end of every run
  next_restart_ += Duration(static_cast<int64_t>(std::min(wait, kLongest)) + 1);
}

void Poller::Take() {
  const Poll& next = schedule_.next();
  time_ = next.time;
  if (next.exact != exact_time_) since_ = std::exchange(exact_time_, next.exact);
  schedule_.Advance();
}

uint32_t Poller::restarts() const {
  uint32_t most = 0;
  for (const PolledEntity& entity : entities_) most = std::max(most, entity.restarts);
  return most;
}

void Poller::Read(ExactCounters& exact) {
  if (read_ == exact_time_) {
    LeaveOutThoseDown();
    return;
  }
  while (next_restart_ <= exact_time_) {
    RestartAll(exact, next_restart_);
    DrawRestart();
  }
  for (PolledEntity& entity : entities_) {
    EndOutages(exact, entity, exact_time_);
    if (entity.conversions.empty()) {
      entity.is_present = ReadEntity(exact, entity, entity.values);
      continue;
    }
    exact_.resize(exact.entities()[entity.index].metrics.size());
    entity.is_present = ReadEntity(exact, entity, exact_);
    if (entity.is_present) Convert(entity, exact_time_);
  }
  read_ = exact_time_;
}

bool Poller::ReadEntity(ExactCounters& exact, PolledEntity& entity, std::span<uint64_t> values) {
  const Timestamp since = entity.since.value_or(since_);
  const bool is_present = !IsDown(entity) && exact.Read(entity.index, since, exact_time_, values);
  entity.since = is_present ? std::optional<Timestamp>() : since;
  return is_present;
}

void Poller::LeaveOutThoseDown() {
  for (PolledEntity& entity : entities_) {
    if (!entity.is_present || !IsDown(entity)) continue;
    entity.is_present = false;
    entity.since = exact_time_;
  }
}

void Poller::EndOutages(ExactCounters& exact, PolledEntity& entity, Timestamp time) {
  for (; entity.next_outage < entity.outages.size(); ++entity.next_outage) {
    const Timestamp up = entity.outages[entity.next_outage].end;
    if (up > time) return;
    if (profile().counters_survive_reboots) continue;
    Restart(exact, entity, up);
    entity.since = up;
  }
}

void Poller::Convert(PolledEntity& entity, Timestamp time) {
  for (size_t i = 0; i < entity.conversions.size(); ++i) {
    const PolledEntity::Conversion& conversion = entity.conversions[i];
    entity.values[i] = (exact_[conversion.source] + conversion.offset) & conversion.mask;
  }
  if (!entity.quirk) return;
  PolledEntity::QuirkCount& quirk = *entity.quirk;
  const auto count =
      static_cast<uint64_t>((time - options_.schedule.begin + quirk.phase) / quirk.period);
  entity.values[quirk.value] = (entity.values[quirk.value] + count - quirk.at_restart) &
                               entity.conversions[quirk.value].mask;
}

void Poller::RestartAll(ExactCounters& exact, Timestamp time) {
  for (PolledEntity& entity : entities_) {
    EndOutages(exact, entity, time);
    Restart(exact, entity, time);
  }
}

// Does nothing if the device is down.
void Poller::Restart(ExactCounters& exact, PolledEntity& entity, Timestamp time) {
  exact_.resize(exact.entities()[entity.index].metrics.size());
  if (!exact.Read(entity.index, time, time, exact_)) return;
  ++entity.restarts;
  for (PolledEntity::Conversion& conversion : entity.conversions) {
    if (conversion.is_counter) conversion.offset = 0 - exact_[conversion.source];
  }
  if (!entity.quirk) return;
  entity.quirk->at_restart = static_cast<uint64_t>(
      (time - options_.schedule.begin + entity.quirk->phase) / entity.quirk->period);
}

}  // namespace rocescope::sim
