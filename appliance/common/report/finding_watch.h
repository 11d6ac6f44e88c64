// SPDX-License-Identifier: BSD-3-Clause
// Compares successive reports: new, resolved and withdrawn findings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/time.h"

namespace rocescope {

namespace v1 {
class Finding;
class ReplayReport;
}  // namespace v1

enum class FindingChange : uint8_t {
  kBegun,      // newly found
  kOver,       // resolved: the finding has an end
  kWithdrawn,  // withdrawn: newer data explains it otherwise, or it expired
};
std::string_view NameOf(FindingChange change);  // "started", "resolved", "withdrawn"

class FindingWatch {
 public:
  // For a withdrawn finding, `finding` contains only its kind, place and direction, its last
  // sentence, and all jobs of the report that it affected according to earlier reports.
  using Tell = std::function<void(FindingChange change, const v1::Finding& finding)>;

  // Reports the changes since the last call: withdrawn findings first, then the others in the order
  // of the report. Two findings are the same if kind, place and direction are equal. In any five
  // minutes, a finding starts at most once, and is resolved or withdrawn at most once: a later
  // change is reported when they are over, if it still holds. `now`: the end of the data in the
  // report.
  void Look(const v1::ReplayReport& report, Timestamp now, const Tell& tell);
  // Clears the state without reporting any change; every finding of the next report is new.
  void Forget() { known_.clear(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Known {
    std::string sentence;
    std::set<std::string> affected_job_ids;  // since it was last reported as started
    bool is_active = false;                  // as it was reported
    std::optional<Timestamp> started;        // when it was last reported as started
    std::optional<Timestamp> ended;          // when it was last reported as resolved or withdrawn
    uint64_t seen = 0;                       // the last call that contained it
  };
  std::map<Key, Known> known_;
  uint64_t looks_ = 0;
};

}  // namespace rocescope
