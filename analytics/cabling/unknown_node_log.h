// SPDX-License-Identifier: BSD-3-Clause
// Counts what nobody declared, with a few names.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "analytics/cabling/cable_finding.h"

namespace rocescope {

class UnknownNodeLog {
 public:
  void Add(const std::string& name) {
    ++records_;
    if (names_.contains(name)) return;
    if (names_.size() < kMaxNames) {
      names_.insert(name);
    } else {
      more_ = true;
    }
  }
  UnknownNodes Answer() const {
    return {.records = records_, .examples = {names_.begin(), names_.end()}, .more = more_};
  }

 private:
  static constexpr size_t kMaxNames = 4;

  uint64_t records_ = 0;
  std::set<std::string> names_;
  bool more_ = false;
};

}  // namespace rocescope
