// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_jobs.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "appliance/cli/score/adjusted_rand.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

using Votes = std::map<std::string, double>;

std::string MostOf(const Votes& votes) {
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  return most == votes.end() ? "" : most->first;
}

double BytesOf(const v1::TruthConnection& connection) {
  double bytes = 0;
  for (const v1::TruthPath& path : connection.forward()) bytes += static_cast<double>(path.bytes());
  for (const v1::TruthPath& path : connection.backward())
    bytes += static_cast<double>(path.bytes());
  return bytes;
}

}  // namespace

JobAgreement CompareJobs(const v1::Truth& truth, const v1::ReplayReport& report) {
  std::map<std::string, Votes> in_truth;  // by address
  std::map<std::pair<std::string, uint32_t>, std::string> job_of_end;
  for (const v1::TruthConnection& connection : truth.connections()) {
    for (const v1::TruthEnd* end : {&connection.first(), &connection.second()}) {
      job_of_end[{end->address(), end->qpn()}] = connection.job();
      const double bytes = BytesOf(connection);
      if (!connection.job().empty() && bytes > 0)
        in_truth[end->address()][connection.job()] += bytes;
    }
  }
  std::map<std::string, Votes> in_report;  // by address
  std::map<std::string, Votes> true_jobs;  // by the report's job
  for (const v1::Connection& connection : report.connections()) {
    const auto bytes =
        static_cast<double>(connection.a_to_b().data_bytes() + connection.b_to_a().data_bytes());
    for (const v1::Endpoint* end : {&connection.a(), &connection.b()}) {
      if (end->job_id().empty()) continue;
      in_report[end->address()][end->job_id()] += bytes + 1;  // some carry acknowledgements only
      if (!end->has_qpn()) continue;
      const auto at = job_of_end.find({end->address(), end->qpn()});
      if (at != job_of_end.end()) ++true_jobs[end->job_id()][at->second];
    }
  }
  JobAgreement agreement;
  for (const auto& [job, votes] : true_jobs) agreement.true_job[job] = MostOf(votes);
  std::map<std::string, uint32_t> true_label;
  std::map<std::string, uint32_t> label;
  std::vector<uint32_t> truly;
  std::vector<uint32_t> said;
  for (const auto& [address, votes] : in_truth) {
    truly.push_back(true_label.try_emplace(MostOf(votes), static_cast<uint32_t>(true_label.size()))
                        .first->second);
    const auto at = in_report.find(address);
    // A job ID never contains a space, so this is a cluster of its own.
    const std::string job = at == in_report.end() ? " " + address : MostOf(at->second);
    said.push_back(label.try_emplace(job, static_cast<uint32_t>(label.size())).first->second);
  }
  agreement.nics = static_cast<double>(truly.size());
  agreement.adjusted_rand = AdjustedRandIndex(truly, said);
  return agreement;
}

}  // namespace rocescope
