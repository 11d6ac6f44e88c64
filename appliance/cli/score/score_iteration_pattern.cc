// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_iteration_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

constexpr double kGoodPeriod = 0.003;
constexpr int kFewestIterations = 20;
// A report about fewer iterations is compared with kFewestIterations.
constexpr int kFewestCompared = 10;

bool CarriedAny(const v1::TruthConnection& connection) {
  const auto any = [](const auto& paths) {
    return std::ranges::any_of(paths, [](const v1::TruthPath& path) { return path.bytes() > 0; });
  };
  return any(connection.forward()) || any(connection.backward());
}

// Types of the job's phases that crossed the fabric.
std::multiset<std::string> KindsOf(const v1::Truth& truth, const v1::TruthJob& job) {
  std::set<uint32_t> crossed;
  for (const v1::TruthConnection& connection : truth.connections()) {
    if (connection.job() == job.name() && CarriedAny(connection))
      crossed.insert(connection.phase());
  }
  std::multiset<std::string> kinds;
  for (const uint32_t phase : crossed) {
    if (phase >= static_cast<uint32_t>(job.phases_size())) continue;
    kinds.insert(job.phases(static_cast<int>(phase)).collective());
  }
  return kinds;
}

double MatchesOf(std::multiset<std::string> kinds, const v1::IterationPattern& iteration_pattern) {
  double matches = 0;
  const auto take = [&](const std::string& kind) {
    const auto at = kinds.find(kind);
    if (at == kinds.end()) return false;
    kinds.erase(at);
    ++matches;
    return true;
  };
  for (const v1::Collective& told : iteration_pattern.collectives()) {
    if (!take(WordOf(told.kind()))) take(WordOf(told.alternative()));
  }
  return matches;
}

// The mean over the iterations in the time that the report states. An iteration starts with
// computation, so the last one that started before the first data is the one that the report
// observed. The first iteration is excluded: all ranks start to compute together, but later each
// when it is done, so that its duration differs from the interval between data, which is what
// telemetry observes. An iteration that a crash of the job ended may have sent all, some or nothing
// of its data, so that the mean with it and the mean without it are both right. The one that is
// closer to `stated` is returned; times are in ns.
std::optional<double> TruePeriod(const v1::TruthJob& job,
                                 const v1::IterationPattern& iteration_pattern, double stated) {
  const auto started_by = [&](const google::protobuf::Timestamp& time) {
    int last = 0;
    while (last + 1 < job.iterations_size() &&
           job.iterations(last + 1).start_ns() <= Nanoseconds(time)) {
      ++last;
    }
    return last;
  };
  int last = started_by(iteration_pattern.end_time());
  int first = started_by(iteration_pattern.start_time());
  if (first == 0 && job.iterations_size() > kFewestIterations + 1) first = 1;
  if (last - first < kFewestCompared) {
    last = std::min(job.iterations_size() - 1, first + kFewestIterations);
  }
  if (last <= first) return std::nullopt;
  const auto time =
      static_cast<double>(job.iterations(last).start_ns() - job.iterations(first).start_ns());
  const int all = last - first;
  const auto crashed = static_cast<int>(std::ranges::count_if(job.restarts(), [&](const auto& at) {
    return job.iterations(first).start_ns() < at.stop_ns() &&
           at.stop_ns() < job.iterations(last).start_ns();
  }));
  const double period = time / all;
  if (crashed == 0 || crashed >= all) return period;
  const double without = time / (all - crashed);
  return std::abs(without - stated) < std::abs(period - stated) ? without : period;
}

// The report's job that most of the true job's NICs belong to, or nullptr.
const v1::Job* Find(const v1::ReplayReport& report, const std::string& name,
                    const std::map<std::string, std::string>& true_job) {
  const v1::Job* best = nullptr;
  for (const v1::Job& job : report.jobs()) {
    const auto at = true_job.find(job.job_id());
    if (at == true_job.end() || at->second != name) continue;
    if (best == nullptr ||
        job.iteration_pattern().members_size() > best->iteration_pattern().members_size())
      best = &job;
  }
  return best;
}

std::string_view HostOf(std::string_view place) { return place.substr(0, place.find(':')); }

void CompareWaiting(const v1::Truth& truth, const v1::ReplayReport& report,
                    IterationPatternAgreement& agreement) {
  std::map<std::string, bool> stragglers;  // by host: reported
  for (const v1::TruthFault& fault : truth.faults()) {
    if (fault.kind() != "straggler" || fault.visible_ns() == 0) continue;
    stragglers.emplace(HostOf(fault.place()), false);
  }
  for (const v1::Job& job : report.jobs()) {
    if (!job.iteration_pattern().has_straggler()) continue;
    const uint32_t member = job.iteration_pattern().straggler().member_index();
    if (member >= static_cast<uint32_t>(job.iteration_pattern().members_size())) continue;
    const std::string& host = job.iteration_pattern().members(static_cast<int>(member)).host();
    const auto straggler = stragglers.find(host);
    if (straggler != stragglers.end()) {
      straggler->second = true;
      continue;
    }
    ++agreement.of_waited_for;
    agreement.misses.push_back(
        fmt::format("{}: {} is wrongly reported as the straggler", job.job_id(), host));
  }
  for (const auto& [host, named] : stragglers) {
    ++agreement.of_waited_for;
    agreement.straggler += named;
    if (!named) agreement.misses.push_back(fmt::format("the straggler {} is not reported", host));
  }
}

}  // namespace

IterationPatternAgreement CompareIterationPatterns(
    const v1::Truth& truth, const v1::ReplayReport& report,
    const std::map<std::string, std::string>& true_job) {
  IterationPatternAgreement agreement;
  for (const v1::TruthJob& job : truth.jobs()) {
    const std::multiset<std::string> kinds = KindsOf(truth, job);
    if (kinds.empty()) continue;
    const v1::Job* const found = Find(report, job.name(), true_job);
    const v1::IterationPattern iteration_pattern =
        found == nullptr ? v1::IterationPattern() : found->iteration_pattern();
    const double matches = MatchesOf(kinds, iteration_pattern);
    const auto of = static_cast<double>(
        std::max(kinds.size(), static_cast<size_t>(iteration_pattern.collectives_size())));
    agreement.collectives += matches;
    agreement.of_collectives += of;
    if (matches < of) {
      std::vector<std::string> told;
      for (const v1::Collective& one : iteration_pattern.collectives())
        told.push_back(WordOf(one.kind()));
      agreement.misses.push_back(
          fmt::format("{} does {}, reported as {}", job.name(), fmt::join(kinds, " and "),
                      told.empty() ? "nothing" : fmt::format("{}", fmt::join(told, " and "))));
    }
    if (job.iterations_size() <= kFewestIterations) continue;
    ++agreement.of_periods;
    if (Nanoseconds(iteration_pattern.period()) == 0) {
      agreement.period_errors += 1;
      agreement.misses.push_back(fmt::format("{} has no iteration period", job.name()));
      continue;
    }
    ++agreement.stated_periods;
    const auto stated = static_cast<double>(Nanoseconds(iteration_pattern.period()));
    const std::optional<double> period = TruePeriod(job, iteration_pattern, stated);
    const double error = period ? std::abs(stated / *period - 1) : 1;
    agreement.periods += error <= kGoodPeriod;
    agreement.period_errors += error;
    if (error <= kGoodPeriod) continue;
    agreement.misses.push_back(
        period ? fmt::format("{} has an iteration period of {:.1f} us, reported as {:.1f} us",
                             job.name(), *period / 1e3, stated / 1e3)
               : fmt::format("{} has no iterations in the time for which a period of {:.1f} us is "
                             "reported",
                             job.name(), stated / 1e3));
  }
  CompareWaiting(truth, report, agreement);
  return agreement;
}

}  // namespace rocescope
