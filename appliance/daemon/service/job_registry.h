// SPDX-License-Identifier: BSD-3-Clause
// The jobs that a scheduler has registered: whose nodes are whose. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/host/allocation.h"
#include "base/time.h"

namespace rocescope {

class JobRegistry {
 public:
  // Beyond which the one that ended first is forgotten; where none has ended, a new one is refused.
  static constexpr size_t kMost = 65'536;
  // Likewise of nodes, all jobs together.
  static constexpr size_t kMaxNodes = size_t{1} << 20;
  // Of those that have ended, whoever is told hears of the last ones.
  static constexpr size_t kMaxEndedTold = 1000;

  // False: there is no room. One of the same number takes the place of the one before, unless that
  // has ended and began at the same time: then it is the same one, said late.
  bool Register(Allocation allocation);
  // False: it is not known. One that had ended keeps its end.
  bool End(uint64_t id, Timestamp end);

  // By its number or name.
  bool Has(std::string_view name) const;
  // By id.
  std::vector<Allocation> All() const;
  // What analysis and the file are told: those that are held, and of the others the kMaxEndedTold
  // that ended last. By id. Takes no longer for all that ended before.
  std::vector<Allocation> Told() const;
  // Those that have not ended; by id.
  std::vector<Allocation> Held() const;
  std::optional<Allocation> Find(uint64_t id) const;
  // Of ids above `after`, so many at most; by id.
  std::vector<Allocation> After(uint64_t after, bool ended_too, size_t most) const;

 private:
  bool MakeRoom(uint64_t keep);
  void Forget(std::map<uint64_t, Allocation>::iterator at);
  void Keep(Allocation allocation);

  mutable std::mutex mutex_;
  std::map<uint64_t, Allocation> jobs_;
  std::set<uint64_t> held_;                         // each of jobs_ is in one of these two
  std::set<std::pair<Timestamp, uint64_t>> ended_;  // when, and which
  size_t nodes_ = 0;                                // of all
};

}  // namespace rocescope
