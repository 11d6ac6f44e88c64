// SPDX-License-Identifier: BSD-3-Clause
// Counts samples that a scrape target with a configured node has for other nodes, and keeps a few
// of their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/time.h"

namespace rocescope {

struct ForeignNodes {
  static constexpr size_t kMaxNames = 4;

  std::string url;   // URL of the target
  std::string node;  // the only node that the target may report for
  uint64_t samples = 0;
  std::set<std::string> names;  // the first few other nodes
  bool more = false;            // whether there are more names than listed
  Timestamp last_received;      // valid if there are samples

  void Add(const std::string& name, Timestamp now) {
    ++samples;
    last_received = now;
    if (names.contains(name)) return;
    if (names.size() < kMaxNames) {
      names.insert(name);
    } else {
      more = true;
    }
  }
};

}  // namespace rocescope
