// SPDX-License-Identifier: BSD-3-Clause
// Summary of a job, as lists of jobs contain it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "appliance/daemon/service/answer_view.h"
#include "appliance/daemon/service/own_jobs.h"

namespace rocescope {

namespace v1 {
class JobSummary;
}

// `index` is an index into Attribution::jobs.
void FillJobSummary(const AnswerView& answer, size_t index, v1::JobSummary& out);

// Returns the service levels of the job (an index into Attribution::jobs) and of the GPUs and NICs
// of its hosts. nullopt: all levels.
std::vector<const ServiceLevel*> ServiceLevelsOf(const AnswerView& answer,
                                                 std::optional<size_t> job);
// Returns those of all own jobs, without duplicates.
std::vector<const ServiceLevel*> ServiceLevelsOf(const AnswerView& answer, const OwnJobs& own);

// Finds a job by its id, or by the scheduler's number or name if only one job has that. Jobs that
// are not in `own` do not count. Returns nullopt if there is no such job.
std::optional<size_t> FindJob(const Snapshot& snapshot, const OwnJobs& own, std::string_view name);

}  // namespace rocescope
