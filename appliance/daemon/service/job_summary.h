// SPDX-License-Identifier: BSD-3-Clause
// A job in a line: what a list of many says of each.
#pragma once

#include <optional>
#include <string_view>

#include "appliance/daemon/service/answer_view.h"

namespace rocescope {

namespace v1 {
class JobSummary;
}

// `index` is that of Attribution::jobs.
void FillJobSummary(const AnswerView& answer, size_t index, v1::JobSummary& out);

// By its id, or the scheduler's number or name of it if no other job has that; none: there is no
// such job.
std::optional<size_t> FindJob(const Snapshot& snapshot, std::string_view name);

}  // namespace rocescope
