// SPDX-License-Identifier: BSD-3-Clause
// Collectives, periods and stragglers, in a report and in truth. Internal to this folder.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rocescope {

namespace v1 {
class ReplayReport;
class Truth;
}  // namespace v1

struct IterationPatternAgreement {
  double collectives = 0;     // told, of a kind that the job really has
  double of_collectives = 0;  // that crossed the fabric; or that are told, where these are more
  double periods = 0;         // within 0.3 % of the truth's mean over the same iterations
  double period_errors = 0;   // the sum of how far off they are, as shares
  double of_periods = 0;      // of jobs that were seen for twenty iterations
  double straggler = 0;      // stragglers that the report names, by host
  double of_waited_for = 0;   // that could be seen; and those that are named and are none
  std::vector<std::string> misses;
};

// `true_job`: by the report's job.
IterationPatternAgreement CompareIterationPatterns(const v1::Truth& truth, const v1::ReplayReport& report,
                               const std::map<std::string, std::string>& true_job);

}  // namespace rocescope
