// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/traffic_counters.h"

#include <utility>

namespace rocescope {

void TrafficCounters::AddLinks(const LinkLoads& loads, uint32_t restarted) {
  if (!loads.from) return;
  const std::lock_guard lock(mutex_);
  if (std::exchange(restarted_, restarted) != restarted) last_from_.reset();
  if (last_from_) {
    if (*loads.from <= *last_from_) return;
    if (loads.window > Duration{}) {
      missed_windows_ += static_cast<uint64_t>((*loads.from - *last_from_) / loads.window - 1);
    }
  }
  last_from_ = loads.from;
  for (const LinkLoad& load : loads.loads) {
    auto at = links_.find(load.port);
    if (at == links_.end()) {
      if (links_.size() >= limits_.max_links) {
        omitted_.insert(load.port);
        continue;
      }
      at = links_.try_emplace(load.port).first;
    }
    LinkTotals& to = at->second;
    to.bytes += load.bytes;
    to.marked += load.marked;
    to.dropped += load.dropped;
    to.errors += load.errors;
    if (load.paused > Duration{}) to.paused += load.paused;
  }
}

std::optional<uint64_t> TrafficCounters::AddJob(const std::string& job, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto at = jobs_.find(job);
  if (at == jobs_.end()) {
    if (jobs_.size() >= limits_.max_jobs) return std::nullopt;
    at = jobs_.try_emplace(job).first;
  }
  // Fewer bytes than before mean that connections were attributed differently, not a restart.
  if (bytes > at->second.last) at->second.total += bytes - at->second.last;
  at->second.last = bytes;
  return at->second.total;
}

void TrafficCounters::KeepJobs(const std::set<std::string>& current) {
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [&](const auto& job) { return !current.contains(job.first); });
}

void TrafficCounters::AddAgents(std::map<std::string, uint64_t> dropped) {
  const std::lock_guard lock(mutex_);
  for (const auto& [host, now] : dropped) {
    const auto before = agents_.find(host);
    const bool is_same_session = before != agents_.end() && now >= before->second;
    agent_lost_batches_ += is_same_session ? now - before->second : now;
  }
  agents_ = std::move(dropped);
}

std::map<topology::PortIndex, LinkTotals> TrafficCounters::Links() const {
  const std::lock_guard lock(mutex_);
  return links_;
}

uint64_t TrafficCounters::omitted_links() const {
  const std::lock_guard lock(mutex_);
  return omitted_.size();
}

uint64_t TrafficCounters::missed_windows() const {
  const std::lock_guard lock(mutex_);
  return missed_windows_;
}

uint64_t TrafficCounters::agent_lost_batches() const {
  const std::lock_guard lock(mutex_);
  return agent_lost_batches_;
}

}  // namespace rocescope
