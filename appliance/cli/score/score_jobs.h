// SPDX-License-Identifier: BSD-3-Clause
// Which NICs work for one job, in a report and in truth. Internal to this folder.
#pragma once

#include <map>
#include <string>

namespace rocescope {

namespace v1 {
class ReplayReport;
class Truth;
}  // namespace v1

struct JobAgreement {
  // Over the NICs that carried traffic of a job in truth. Each is of the job most of whose octets
  // it carried; in the report likewise, and by itself where the report gives it to none.
  double adjusted_rand = 1;
  double nics = 0;
  // By the report's job: the truth's that has most of its ends; empty: of background traffic.
  std::map<std::string, std::string> true_job;
};

JobAgreement CompareJobs(const v1::Truth& truth, const v1::ReplayReport& report);

}  // namespace rocescope
