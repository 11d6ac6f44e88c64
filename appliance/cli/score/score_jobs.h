// SPDX-License-Identifier: BSD-3-Clause
// The assignment of NICs to jobs, in a report and in truth. Internal to this folder.
#pragma once

#include <map>
#include <string>

namespace rocescope {

namespace v1 {
class ReplayReport;
class Truth;
}  // namespace v1

struct JobAgreement {
  // Scores the NICs that carried a job's traffic in truth. Each NIC belongs to the job with most of
  // its bytes, in truth and in the report; a NIC without a job in the report is a cluster of its
  // own.
  double adjusted_rand = 1;
  double nics = 0;
  // Returns, for each job of the report, the true job that most of its ends belong to; "" is
  // background traffic.
  std::map<std::string, std::string> true_job;
};

JobAgreement CompareJobs(const v1::Truth& truth, const v1::ReplayReport& report);

}  // namespace rocescope
