// SPDX-License-Identifier: BSD-3-Clause
// The jobs that a scheduler has registered: whose nodes are whose. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

#include "analytics/job/allocation.h"
#include "base/time.h"

namespace rocescope {

class JobRegistry {
 public:
  // Beyond which the one that ended first is forgotten; where none has ended, a new one is refused.
  static constexpr size_t kMost = 65'536;

  // False: there is no room. One of the same number takes the place of the one before.
  bool Register(Allocation allocation);
  // False: it is not known. One that had ended keeps its end.
  bool End(uint64_t id, Timestamp end);

  // By its number or name.
  bool Has(std::string_view name) const;
  // By id.
  std::vector<Allocation> All() const;

 private:
  bool MakeRoom();

  mutable std::mutex mutex_;
  std::map<uint64_t, Allocation> jobs_;
};

}  // namespace rocescope
