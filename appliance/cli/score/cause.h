// SPDX-License-Identifier: BSD-3-Clause
// What a false finding coincides with: a benign event, or a fault that may explain it. Internal to
// this folder.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace rocescope {

namespace v1 {
class Finding;
class Truth;
class TruthBenign;
class TruthFault;
}  // namespace v1

// Time during which a finding reports signs, in nanoseconds since the epoch.
struct FindingTime {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

class CauseFinder {
 public:
  // Events and faults within `tolerance_ns` of a finding's time coincide with it. `truth` must
  // remain valid.
  CauseFinder(const v1::Truth& truth, int64_t tolerance_ns)
      : truth_(truth), tolerance_ns_(tolerance_ns) {}

  // The benign event at the finding's place, or if there is none, at an adjacent element, or if
  // there is none, of a job that uses the place; of several, the one that starts closest to the
  // finding. Returns nullptr if there is none.
  const v1::TruthBenign* BenignEvent(const v1::Finding& finding, const FindingTime& time);

  // The first visible fault in the truth, except number `except`, that was visible before the end
  // of the finding, and whose kind explains such findings there (topology/fault/fault_kind.h).
  // Returns nullptr if there is none.
  const v1::TruthFault* FaultBehind(const v1::Finding& finding, const FindingTime& time,
                                    int except = -1) const;

 private:
  // Names of the elements that carry the job's traffic.
  struct JobPlaces {
    std::set<std::string, std::less<>> nodes;
    std::set<std::string, std::less<>> ports;  // NODE:PORT and HOST:DEVICE
  };
  const JobPlaces& PlacesOf(const std::string& job);
  int RankOf(const v1::TruthBenign& event, const std::string& place);

  const v1::Truth& truth_;
  const int64_t tolerance_ns_;
  std::map<std::string, JobPlaces> jobs_;
};

}  // namespace rocescope
