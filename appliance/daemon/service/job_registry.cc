// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/job_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "appliance/common/config/byte_size.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

// An ended job without an end time sorts before all others.
Timestamp EndOf(const Allocation& job) { return job.end.value_or(Timestamp{}); }

// Memory of a job. Its copies in the analysis, in answers and in the job file share the nodes, of
// which the analysis has an index.
uint64_t BytesOf(const Allocation& job) {
  constexpr uint64_t kCopies = 6;
  constexpr uint64_t kIndexEntry = 256;
  uint64_t bytes = kCopies * (sizeof(Allocation) + job.name.size() + job.user.size());
  for (const AllocatedNode& node : job.nodes) {
    bytes += kIndexEntry + sizeof(AllocatedNode) + node.name.size() +
             node.gpus.size() * sizeof(node.gpus[0]);
  }
  return bytes;
}

}  // namespace

JobRegistry::Limits JobRegistry::LimitsFor(uint64_t memory) {
  constexpr uint64_t kMebibyte = uint64_t{1} << 20;
  Limits limits;
  limits.bytes = std::min(limits.bytes, memory / 8 / kMebibyte * kMebibyte);
  return limits;
}

Result<uint64_t> JobRegistry::Register(Allocation allocation) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = allocation.id;
  const auto at = jobs_.find(id);
  size_t nodes = allocation.nodes.size();
  uint64_t bytes = BytesOf(allocation);
  if (at != jobs_.end()) {
    const Allocation& before = at->second;
    if (before.state == AllocationState::kEnded && before.start && before.start == allocation.start)
      return registrations_[id] = ++last_registration_;
    nodes -= std::min(nodes, before.nodes.size());
    bytes -= std::min(bytes, BytesOf(before));
  }
  const auto exceeded = [&]() -> std::string {
    if (at == jobs_.end() && jobs_.size() >= limits_.jobs)
      return fmt::format("{} registered jobs", WithThousands(limits_.jobs));
    if (nodes_ + nodes > limits_.nodes)
      return fmt::format("{} nodes of all registered jobs together", WithThousands(limits_.nodes));
    if (bytes_ + bytes > limits_.bytes)
      return fmt::format("{} of memory for all registered jobs together",
                         FormatBytes(limits_.bytes));
    return {};
  };
  for (std::string limit; !(limit = exceeded()).empty();) {
    if (MakeRoom(id)) continue;
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("the maximum of {} is reached, and none of the jobs has ended: "
                                 "call EndJob for jobs that have ended",
                                 limit));
  }
  if (at != jobs_.end()) Forget(at);
  Keep(std::move(allocation));
  ++version_;
  return registrations_[id] = ++last_registration_;
}

void JobRegistry::Undo(uint64_t id, uint64_t registration,
                       const std::optional<Allocation>& before) {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(id);
  if (at == jobs_.end() || registrations_[id] != registration) return;
  Forget(at);
  if (before) Keep(*before);
  ++version_;
}

void JobRegistry::Keep(Allocation allocation) {
  nodes_ += allocation.nodes.size();
  bytes_ += BytesOf(allocation);
  const uint64_t id = allocation.id;
  if (allocation.state == AllocationState::kEnded) {
    ended_.emplace(EndOf(allocation), id);
  } else {
    held_.insert(id);
  }
  jobs_.emplace(id, std::move(allocation));
}

void JobRegistry::Forget(std::map<uint64_t, Allocation>::iterator at) {
  nodes_ -= at->second.nodes.size();
  bytes_ -= BytesOf(at->second);
  held_.erase(at->first);
  ended_.erase({EndOf(at->second), at->first});
  registrations_.erase(at->first);
  jobs_.erase(at);
}

bool JobRegistry::MakeRoom(uint64_t keep) {
  auto first = ended_.begin();
  if (first != ended_.end() && first->second == keep) ++first;
  if (first == ended_.end()) return false;
  Forget(jobs_.find(first->second));
  return true;
}

bool JobRegistry::End(uint64_t id, Timestamp end) {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return false;
  if (at->second.state == AllocationState::kEnded) return true;
  at->second.state = AllocationState::kEnded;
  at->second.state_text = "COMPLETED";
  at->second.end = end;
  held_.erase(id);
  ended_.emplace(end, id);
  ++version_;
  registrations_[id] = ++last_registration_;
  return true;
}

bool JobRegistry::Has(std::string_view name, const Condition& condition) const {
  if (name.empty()) return false;  // jobs may have no name
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    const bool is_named = name == entry.second.name || name == fmt::format("{}", entry.first);
    return is_named && condition(entry.second);
  });
}

std::vector<Allocation> JobRegistry::Select(const Condition& condition) const {
  std::vector<Allocation> selected;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    if (condition(job)) selected.push_back(job);
  }
  return selected;
}

std::vector<Allocation> JobRegistry::All() const {
  std::vector<Allocation> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) all.push_back(job);
  return all;
}

std::vector<Allocation> JobRegistry::Reported() const {
  std::vector<Allocation> reported;
  const std::lock_guard lock(mutex_);
  for (const uint64_t id : held_) reported.push_back(jobs_.at(id));
  size_t room = kMaxEndedReported;
  for (auto at = ended_.rbegin(); at != ended_.rend() && room > 0; ++at, --room) {
    reported.push_back(jobs_.at(at->second));
  }
  std::ranges::sort(reported, {}, &Allocation::id);
  return reported;
}

std::vector<Allocation> JobRegistry::Held() const {
  std::vector<Allocation> held;
  const std::lock_guard lock(mutex_);
  for (const uint64_t id : held_) held.push_back(jobs_.at(id));
  return held;
}

std::optional<Allocation> JobRegistry::Find(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return std::nullopt;
  return at->second;
}

size_t JobRegistry::Count(bool ended_too) const {
  const std::lock_guard lock(mutex_);
  return ended_too ? jobs_.size() : held_.size();
}

std::vector<Allocation> JobRegistry::After(uint64_t after, bool ended_too, size_t most) const {
  std::vector<Allocation> found;
  const std::lock_guard lock(mutex_);
  for (auto at = jobs_.upper_bound(after); at != jobs_.end() && found.size() < most; ++at) {
    if (ended_too || at->second.state == AllocationState::kHeld) found.push_back(at->second);
  }
  return found;
}

}  // namespace rocescope
