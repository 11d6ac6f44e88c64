// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/victims.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

// Exposed jobs that are no victims remain in exposed_jobs.
void SetVictims(const Scenario& scenario, const std::vector<bool>& victims, v1::TruthFault& out) {
  const std::vector<std::string> exposed(out.exposed_jobs().begin(), out.exposed_jobs().end());
  out.clear_exposed_jobs();
  out.set_affected_jobs_unknown(false);
  for (size_t job = 0; job < victims.size(); ++job) {
    const std::string& name = scenario.jobs[job].name;
    if (victims[job]) {
      out.add_affected_jobs(name);
    } else if (std::find(exposed.begin(), exposed.end(), name) != exposed.end()) {
      out.add_exposed_jobs(name);
    }
  }
}

}  // namespace

std::vector<JobWork> WorkIn(const Simulation& simulation, std::span<const Outcome::JobStart> starts,
                            SimTime from, SimTime until, std::span<const uint64_t> retransmitted) {
  std::vector<JobWork> all;
  for (size_t job = 0; job < simulation.scenario().jobs.size(); ++job) {
    JobWork& work = all.emplace_back();
    work.retransmitted = retransmitted[job];
    for (const size_t start : simulation.StartsOf(job)) {
      const std::vector<Job::Iteration>& iterations = starts[start].iterations;
      for (size_t number = 0; number < iterations.size(); ++number) {
        const auto [begin, end] = iterations[number];
        if (begin >= until || end <= from) continue;
        // A crash ends an iteration, but does not complete it.
        if (end == kNever && starts[start].stopped) continue;
        work.iterations[{start, number}] = {
            .time = static_cast<double>(std::min(end, until) - begin), .is_complete = end <= until};
      }
    }
  }
  return all;
}

namespace {

// Compares the same iterations of both runs.
bool IsSlower(const JobWork& with_fault, const JobWork& without_fault) {
  double count = 0;
  double without = 0;
  double more = 0;
  double squares = 0;
  for (const auto& [number, slow] : with_fault.iterations) {
    const auto at = without_fault.iterations.find(number);
    if (at == without_fault.iterations.end() || !at->second.is_complete) continue;
    const double usual = at->second.time;
    if (slow.time >= kSlowdownOfOne * usual) return true;
    if (!slow.is_complete) continue;
    ++count;
    without += usual;
    more += slow.time - usual;
    squares += (slow.time - usual) * (slow.time - usual);
  }
  if (count < kFewIterations) return count > 0 && more >= (kSlowdownOfFew - 1) * without;
  const double variance = std::max(0.0, squares - more * more / count) / (count - 1);
  return more >= (kSlowdown - 1) * without && more >= kDeviations * std::sqrt(variance * count);
}

}  // namespace

bool IsVictim(const JobWork& with_fault, const JobWork& without_fault) {
  if (IsSlower(with_fault, without_fault)) return true;
  const auto with = static_cast<double>(with_fault.retransmitted);
  const auto without = static_cast<double>(without_fault.retransmitted);
  if (without == 0) return with > 0;
  return with > kMoreRetransmitted * without &&
         with - without > kDeviations * std::sqrt(kFramesOfLoss * (with + without));
}

VictimStudy::VictimStudy(const Simulation& complete, const Outcome& outcome)
    : scenario_(complete.scenario()) {
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    std::optional<Study>& study = studies_.emplace_back();
    if (outcome.faults[i].visible == kNever) continue;
    study = {.from = scenario_.faults[i].onset,
             .until = UntilOfVictims(scenario_, scenario_.faults[i]),
             .with_fault = {}};
    study->with_fault =
        WorkIn(complete, outcome.starts, study->from, study->until, outcome.retransmitted[i]);
  }
}

Status VictimStudy::Run(const RunWithout& run, const Progress& progress, v1::Truth& truth) {
  for (size_t i = 0; i < studies_.size(); ++i) {
    if (progress) progress(i, studies_.size());
    std::vector<bool> victims(scenario_.jobs.size());
    if (studies_[i]) {
      const Study& study = *studies_[i];
      const auto without = run(i, study.from, study.until);
      if (!without) return tl::unexpected(without.error());
      for (size_t job = 0; job < victims.size(); ++job) {
        victims[job] = IsVictim(study.with_fault[job], (*without)[job]);
      }
    }
    SetVictims(scenario_, victims, *truth.mutable_faults(static_cast<int>(i)));
  }
  return {};
}

VictimStudy::RunWithout PacketRunWithout(const Scenario& scenario) {
  return [&scenario](size_t fault, SimTime from, SimTime until) -> Result<std::vector<JobWork>> {
    auto simulation = Simulation::Make(scenario, {.directory = {}, .without_fault = fault});
    if (!simulation) return tl::unexpected(simulation.error());
    if (Status ran = (*simulation)->Run({}, until); !ran) return tl::unexpected(ran.error());
    std::vector<Outcome::JobStart> starts;
    for (const auto& job : (*simulation)->jobs()) {
      starts.push_back({.iterations = job->iterations(), .breaks = {}, .stopped = job->stopped()});
    }
    return WorkIn(**simulation, starts, from, until, (*simulation)->RetransmittedNow());
  };
}

}  // namespace rocescope::sim
