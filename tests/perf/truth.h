// SPDX-License-Identifier: BSD-3-Clause
// The ground truth of a generated capture, counted from the workload's packets instead of their
// bytes, so that a reader of the capture can be checked against it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "tests/perf/frame.h"
#include "tests/perf/packet.h"
#include "tests/perf/workload.h"

namespace rocescope::perf {

struct Counts {
  uint64_t packets = 0;
  uint64_t wire_bytes = 0;     // bytes of original frames, without FCS and mirror headers
  uint64_t payload_bytes = 0;  // of requests and READ responses, without padding
  // Messages whose first request packet (FIRST, ONLY, READ request) is captured.
  uint64_t messages = 0;
  uint64_t ce_marks = 0;
  uint64_t cnps = 0;
  uint64_t acks = 0;
  uint64_t request_psns_skipped = 0;  // missing between two captured ones
  uint64_t response_psns_skipped = 0;
};

class Truth {
 public:
  explicit Truth(const Workload& workload) : workload_(workload), flows_(workload.flow_count()) {}

  void Add(const Packet& packet, const Frame& frame);

  // Writes the totals, the parameters, and the flows with the most packets.
  Status WriteJson(const std::string& path, const WorkloadOptions& options) const;

 private:
  const Workload& workload_;
  std::vector<Counts> flows_;
  uint64_t captured_bytes_ = 0;
  int64_t first_ns_ = 0;
  int64_t last_ns_ = 0;
};

}  // namespace rocescope::perf
