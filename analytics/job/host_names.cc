// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_names.h"

#include <algorithm>
#include <utility>

#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

// The dot is the lowest character, so that no other name comes between a name and those that begin
// with it and a dot.
bool IsOrdered(std::string_view a, std::string_view b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return y != b.end();
  if (*x == '.' || *y == '.') return *x == '.';
  return *x < *y;
}

// Both names are normal. See SameHost.
bool BeginsWith(std::string_view name, std::string_view shorter) {
  return name.size() > shorter.size() && !shorter.empty() && name[shorter.size()] == '.' &&
         name.starts_with(shorter);
}

}  // namespace

uint32_t HostNames::Add(std::string_view name) {
  return numbers_.try_emplace(std::string(name), static_cast<uint32_t>(numbers_.size()))
      .first->second;
}

void HostNames::Index() {
  std::vector<std::pair<std::string, uint32_t>> normal;
  normal.reserve(numbers_.size());
  for (const auto& [name, number] : numbers_) normal.emplace_back(NormalHostName(name), number);
  std::ranges::sort(normal, [](const auto& a, const auto& b) {
    return a.first == b.first ? a.second < b.second : IsOrdered(a.first, b.first);
  });
  group_of_.resize(normal.size());
  groups_.clear();
  std::vector<uint32_t> begun;  // the groups that the current name begins with
  for (auto& [name, number] : normal) {
    if (groups_.empty() || groups_.back().name != name) {
      if (!groups_.empty()) begun.push_back(static_cast<uint32_t>(groups_.size() - 1));
      while (!begun.empty() && !BeginsWith(name, groups_[begun.back()].name)) begun.pop_back();
      const auto count = static_cast<std::ptrdiff_t>(std::min(begun.size(), kMaxShorter));
      groups_.push_back({.name = std::move(name),
                         .numbers = {},
                         .shorter = std::vector(begun.begin(), begun.begin() + count)});
    }
    groups_.back().numbers.push_back(number);
    group_of_[number] = static_cast<uint32_t>(groups_.size() - 1);
  }
}

std::vector<uint32_t> HostNames::Find(std::string_view name) const {
  const std::string normal = NormalHostName(name);
  const auto at = std::ranges::lower_bound(groups_, normal, IsOrdered, &Group::name);
  std::vector<uint32_t> found;
  size_t count = 0;
  const auto add = [&](const Group& group) {
    count += group.numbers.size();
    if (count > kMaxMatches) return;
    found.insert(found.end(), group.numbers.begin(), group.numbers.end());
  };
  // Each name that this one begins with is the previous name, or one that the previous one begins
  // with.
  if (at != groups_.begin()) {
    const Group& previous = *(at - 1);
    for (const uint32_t shorter : previous.shorter) {
      if (BeginsWith(normal, groups_[shorter].name)) add(groups_[shorter]);
    }
    if (BeginsWith(normal, previous.name)) add(previous);
  }
  for (auto each = at; each != groups_.end() && count <= kMaxMatches; ++each) {
    if (each->name != normal && !BeginsWith(each->name, normal)) break;
    add(*each);
  }
  if (count > kMaxMatches) {
    const auto same = numbers_.find(std::string(name));
    if (same == numbers_.end()) return {};
    return {same->second};
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace rocescope
