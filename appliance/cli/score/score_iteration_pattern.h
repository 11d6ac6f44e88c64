// SPDX-License-Identifier: BSD-3-Clause
// Collectives, iteration periods and stragglers, in a report and in truth. Internal to this folder.
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
  double collectives = 0;  // reported, with a type that the job really has
  double of_collectives =
      0;               // collectives that crossed the fabric, or reported ones if these are more
  double periods = 0;  // within 0.3 % of the true mean over the same iterations
  double stated_periods = 0;
  double period_errors = 0;  // sum of the relative errors
  double of_periods = 0;     // jobs with more than twenty iterations
  double straggler = 0;      // stragglers reported correctly, by host
  double of_waited_for = 0;  // stragglers that were visible, plus those reported wrongly
  std::vector<std::string> misses;
};

// `true_job` maps the ID of each job in the report to the name of the true job.
IterationPatternAgreement CompareIterationPatterns(
    const v1::Truth& truth, const v1::ReplayReport& report,
    const std::map<std::string, std::string>& true_job);

}  // namespace rocescope
