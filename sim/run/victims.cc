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
  std::vector<JobWork> work;
  for (size_t job = 0; job < simulation.scenario().jobs.size(); ++job) {
    std::vector<Job::Iteration> iterations;
    for (const size_t start : simulation.StartsOf(job)) {
      for (Job::Iteration iteration : starts[start].iterations) {
        // A crash ends an iteration, but does not complete it.
        if (iteration.end == kNever && starts[start].stopped) continue;
        iterations.push_back(iteration);
      }
    }
    work.push_back(
        {.iteration = MeanIteration(iterations, from, until), .retransmitted = retransmitted[job]});
  }
  return work;
}

std::optional<double> MeanIteration(std::span<const Job::Iteration> iterations, SimTime from,
                                    SimTime until) {
  double sum = 0;
  double count = 0;
  double oldest = 0;  // age of the oldest incomplete one
  for (const Job::Iteration& iteration : iterations) {
    if (iteration.begin >= until || iteration.end <= from) continue;
    if (iteration.end > until) {
      oldest = std::max(oldest, static_cast<double>(until - iteration.begin));
      continue;
    }
    sum += static_cast<double>(iteration.end - iteration.begin);
    ++count;
  }
  if (oldest > 0 && (count == 0 || oldest > sum / count)) {
    sum += oldest;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

bool IsVictim(const JobWork& with_fault, const JobWork& without_fault) {
  if (with_fault.iteration && without_fault.iteration &&
      *with_fault.iteration >= kSlowdown * *without_fault.iteration) {
    return true;
  }
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
