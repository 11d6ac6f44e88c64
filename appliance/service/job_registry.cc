// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/service/job_registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rocescope {

bool JobRegistry::Register(Allocation allocation) {
  const std::lock_guard lock(mutex_);
  if (!jobs_.contains(allocation.id) && jobs_.size() >= kMost && !MakeRoom()) return false;
  jobs_[allocation.id] = std::move(allocation);
  return true;
}

bool JobRegistry::MakeRoom() {
  auto first = jobs_.end();
  for (auto at = jobs_.begin(); at != jobs_.end(); ++at) {
    if (at->second.state != AllocationState::kEnded) continue;
    if (first == jobs_.end() || at->second.end < first->second.end) first = at;
  }
  if (first == jobs_.end()) return false;
  jobs_.erase(first);
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

}  // namespace rocescope
