// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: finds the host names of a set that can denote the same host as another
// name (SameHost). A look-up does not visit all names that have the same first label: thousands of
// hosts may be named "w.0.x", "w.1.x" and so on, or by their IPv4 addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rocescope {

class HostNames {
 public:
  // A name that can denote more hosts than this identifies only the host with the same spelling.
  static constexpr size_t kMaxMatches = 128;
  // Considered names that another name begins with. A host has few: "a" and "a.b" for "a.b.c".
  static constexpr size_t kMaxShorter = 7;

  // Returns the number of the name: ascending from 0, and equal for equal spellings.
  uint32_t Add(std::string_view name);
  // Must be called after the last Add and before the following functions.
  void Index();

  // Returns the numbers of the names that can denote the same host, ascending.
  std::vector<uint32_t> Find(std::string_view name) const;

  // Names that differ only in case or in a dot at the end have the same group.
  uint32_t GroupOf(uint32_t number) const { return group_of_[number]; }
  // Returns the groups of the names that a name of this group begins with: at most kMaxShorter,
  // shortest first.
  std::span<const uint32_t> ShorterThan(uint32_t group) const { return groups_[group].shorter; }

 private:
  struct Group {
    std::string name;  // in lower case, without a dot at the end
    std::vector<uint32_t> numbers;
    std::vector<uint32_t> shorter;
  };

  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> group_of_;  // by number
  // Each is followed at once by those whose name begins with its name and a dot.
  std::vector<Group> groups_;
};

}  // namespace rocescope
