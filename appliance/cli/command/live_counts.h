// SPDX-License-Identifier: BSD-3-Clause
// The counts of a live run as one line per second.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"
#include "dataplane/pipeline/frame_processor.h"

namespace rocescope {

// Sums over all cores and ports since the start.
struct LiveCounts {
  FrameProcessor::Counters frames;
  uint64_t bytes = 0;  // sum over all frames
  uint64_t flows = 0;
  uint64_t records = 0;
  uint64_t records_dropped = 0;
  uint64_t missed = 0;
  uint64_t no_mbuf = 0;
  uint64_t errors = 0;
  double mbufs_in_use = 0;  // ratio, of the fullest pool
};

// Returns "1.20 M frames/s, 5.1 Gbit/s; received 12 = decoded 9 + filtered 0 + not RoCE 1 + dropped
// 2; ...". Losses are listed only if there are any.
std::string LiveLine(const LiveCounts& before, const LiveCounts& now, Duration between);

}  // namespace rocescope
