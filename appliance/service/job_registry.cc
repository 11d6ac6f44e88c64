// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/service/job_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rocescope {

bool JobRegistry::Register(Allocation allocation) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = allocation.id;
  const auto at = jobs_.find(id);
  size_t room = allocation.nodes.size();
  if (at != jobs_.end()) {
    const Allocation& before = at->second;
    if (before.state == AllocationState::kEnded && before.start && before.start == allocation.start)
      return true;
    room -= std::min(room, before.nodes.size());
  }
  while ((at == jobs_.end() && jobs_.size() >= kMost) || nodes_ + room > kMostNodes) {
    if (!MakeRoom(id)) return false;
  }
  if (at != jobs_.end()) Forget(at);
  nodes_ += allocation.nodes.size();
  jobs_.emplace(id, std::move(allocation));
  return true;
}

void JobRegistry::Forget(std::map<uint64_t, Allocation>::iterator at) {
  nodes_ -= at->second.nodes.size();
  jobs_.erase(at);
}

bool JobRegistry::MakeRoom(uint64_t keep) {
  auto first = jobs_.end();
  for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
    if (at->second.state != AllocationState::kEnded || at->first == keep) continue;
    if (first == jobs_.end() || at->second.end < first->second.end) first = at;
  }
  if (first == jobs_.end()) return false;
  Forget(first);
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
  return true;
}

bool JobRegistry::Has(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(jobs_, [&](const auto& entry) {
    return name == entry.second.name || name == fmt::format("{}", entry.first);
  });
}

std::vector<Allocation> JobRegistry::All() const {
  std::vector<Allocation> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) all.push_back(job);
  return all;
}

std::vector<Allocation> JobRegistry::Held() const {
  std::vector<Allocation> held;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, job] : jobs_) {
    if (job.state == AllocationState::kHeld) held.push_back(job);
  }
  return held;
}

std::optional<Allocation> JobRegistry::Find(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto at = jobs_.find(id);
  if (at == jobs_.end()) return std::nullopt;
  return at->second;
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
