// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: which of several jobs sent data, if they used the same NICs one after
// the other.
//
// A new job creates new queue pairs on the paths of the job before it. The connections of such jobs
// therefore form periods without a common connection. The periods belong to the jobs in their
// order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytics/job/job_order.h"
#include "base/time.h"

namespace rocescope {

// A connection that carried data.
struct DataSpan {
  Timestamp from;
  Timestamp until;
  uint32_t path = 0;           // equal for connections from the same NIC to the same NIC
  std::vector<uint32_t> jobs;  // jobs to which it can belong, ascending
};

struct SpanOwner {
  uint32_t job = 0;
  // False: there are more jobs than periods, and the last period is assumed to be that of the last
  // job, because it lasts until the end of the data.
  bool is_certain = true;
};

// Returns the owner of each span that can belong to several jobs; nothing: unknown. `end` is the
// end of the data.
std::vector<std::optional<SpanOwner>> OwnersOfSpans(std::span<const DataSpan> spans,
                                                    const JobOrder& order, Timestamp end);

}  // namespace rocescope
