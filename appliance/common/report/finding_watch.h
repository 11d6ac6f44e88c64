// SPDX-License-Identifier: BSD-3-Clause
// From one answer to the next: which faults are new, which are over, and which were taken back.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace rocescope {

namespace v1 {
class Finding;
class ReplayReport;
}  // namespace v1

enum class FindingChange : uint8_t {
  kBegun,      // is found, and was not before
  kOver,       // is not there any more: it has an end
  kWithdrawn,  // is not found any more: what has come since explains it otherwise, or it is
               // forgotten
};
std::string_view NameOf(FindingChange change);  // "begun", "over", "withdrawn"

class FindingWatch {
 public:
  // Of what was taken back the finding has its kind, place and direction, and the sentence that
  // stood when it was found last.
  using Tell = std::function<void(FindingChange change, const v1::Finding& finding)>;

  // Tells what has changed since the last time: what was taken back first, then in the order of
  // the report. A fault is the same one as long as its kind, place and direction are.
  void Look(const v1::ReplayReport& report, const Tell& tell);
  // Nothing is known, and nothing is told of that: what is found next is new.
  void Forget() { known_.clear(); }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  struct Known {
    std::string sentence;
    bool over = false;
    uint64_t seen = 0;  // at which look
  };
  std::map<Key, Known> known_;
  uint64_t looks_ = 0;
};

}  // namespace rocescope
