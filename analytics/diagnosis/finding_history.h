// SPDX-License-Identifier: BSD-3-Clause
// Keeps findings for longer than the stored windows. The diagnosis sees only the stored windows: it
// takes the first of them for the start of an older fault, and cannot see a fault that ended
// before. A detector that compares a place with the same place before takes a lasting fault for
// normal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"

namespace rocescope {

class FindingHistory {
 public:
  // Maximum number of resolved findings that are older than the stored windows.
  static constexpr size_t kMostResolved = 1000;

  // Active findings that the stored windows can no longer show, although the fault lasts: those of
  // detectors that compare a place with itself, and those whose place is not observed any more.
  Findings Lasting(const DiagnosisInput& input) const;

  // Merges a diagnosis, which includes the lasting findings, with the earlier ones. Returns all
  // findings in order of time, and those of a fault that came back as one (JoinRecurring):
  // - The start of a fault is fixed once it is older than the stored windows.
  // - A finding that the diagnosis does not contain any more was resolved if the windows of its
  //   start are no longer stored, and was wrong otherwise.
  // - A new finding is dropped if earlier diagnoses had all its evidence: with the windows before
  //   it, which are no longer stored, it was no fault.
  // Call it more often than every 192 windows, because the first 64 of the 256 stored ones only
  // serve for comparison. `found` refers to the jobs in `input`.
  Findings Update(Findings found, const DiagnosisInput& input);

 private:
  struct Known {
    Finding finding;
    Timestamp active_at;            // the last diagnosis in which it was active
    std::vector<std::string> jobs;  // IDs of the affected jobs
    std::vector<std::string> exposed_jobs;
  };

  std::vector<Known> known_;
};

}  // namespace rocescope
