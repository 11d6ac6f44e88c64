// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/victims.h"

#include <algorithm>

#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

// Indexed by job of the scenario. `retransmitted` belongs to the time `until`.
std::vector<JobWork> WorkIn(const Simulation& simulation, SimTime from, SimTime until,
                            std::span<const uint64_t> retransmitted) {
  std::vector<JobWork> work;
  for (size_t job = 0; job < simulation.scenario().jobs.size(); ++job) {
    std::vector<Job::Iteration> iterations;
    for (const Job* const start : simulation.StartsOf(job)) {
      for (Job::Iteration iteration : start->iterations()) {
        // A crash ends an iteration, but does not complete it.
        if (iteration.end == kNever && start->stopped()) continue;
        iterations.push_back(iteration);
      }
    }
    work.push_back(
        {.iteration = MeanIteration(iterations, from, until), .retransmitted = retransmitted[job]});
  }
  return work;
}

}  // namespace

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
  return with_fault.retransmitted > 0 &&
         static_cast<double>(with_fault.retransmitted) >
             kMoreRetransmitted * static_cast<double>(without_fault.retransmitted);
}

VictimStudy::VictimStudy(Simulation& complete)
    : scenario_(complete.scenario()), truth_(TruthOf(complete)) {
  for (size_t i = 0; i < scenario_.faults.size(); ++i) {
    std::optional<Study>& study = studies_.emplace_back();
    if (complete.injector().happened()[i].visible == kNever) continue;
    study = {.from = scenario_.faults[i].onset,
             .until = UntilOfVictims(scenario_, scenario_.faults[i]),
             .with_fault = {}};
    study->with_fault = WorkIn(complete, study->from, study->until, complete.retransmitted()[i]);
  }
}

Status VictimStudy::Run(const Progress& progress) {
  for (size_t i = 0; i < studies_.size(); ++i) {
    if (progress) progress(i, studies_.size());
    if (studies_[i]) {
      if (Status ran = RunWithout(i); !ran) return ran;
    } else {
      SetVictims(i, std::vector<bool>(scenario_.jobs.size()));
    }
  }
  return {};
}

Status VictimStudy::RunWithout(size_t fault) {
  auto simulation = Simulation::Make(scenario_, {.directory = {}, .without_fault = fault});
  if (!simulation) return tl::unexpected(simulation.error());
  const Study& study = *studies_[fault];
  if (Status ran = (*simulation)->Run({}, study.until); !ran) return ran;
  const std::vector<JobWork> without =
      WorkIn(**simulation, study.from, study.until, (*simulation)->RetransmittedNow());
  std::vector<bool> victims;
  for (size_t job = 0; job < without.size(); ++job) {
    victims.push_back(IsVictim(study.with_fault[job], without[job]));
  }
  SetVictims(fault, victims);
  return {};
}

// Exposed jobs that are no victims remain in exposed_jobs.
void VictimStudy::SetVictims(size_t fault, const std::vector<bool>& victims) {
  v1::TruthFault& out = *truth_.mutable_faults(static_cast<int>(fault));
  const std::vector<std::string> exposed(out.exposed_jobs().begin(), out.exposed_jobs().end());
  out.clear_exposed_jobs();
  out.set_affected_jobs_unknown(false);
  for (size_t job = 0; job < victims.size(); ++job) {
    const std::string& name = scenario_.jobs[job].name;
    if (victims[job]) {
      out.add_affected_jobs(name);
    } else if (std::find(exposed.begin(), exposed.end(), name) != exposed.end()) {
      out.add_exposed_jobs(name);
    }
  }
}

}  // namespace rocescope::sim
