// SPDX-License-Identifier: BSD-3-Clause
// Capture files through DPDK's net_pcap: the way of a live frame without a NIC.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

struct CapturePortOptions {
  bool (*stopped)() = nullptr;  // asked once a batch: whether to end here
};

// Starts EAL (once a process) without hugepages or rights, opens each file as a port, and merges
// their frames by time as OpenCaptures does: a microsecond capture gives the same frames. The files
// are plain Ethernet pcap, and read twice: net_pcap says nothing of a file's end or damage, so
// their frames are counted first. Nanoseconds are cut to microseconds, which a note says.
Result<std::unique_ptr<CaptureSource>> OpenCapturesAsPorts(std::span<const TapFile> files,
                                                           const CapturePortOptions& options = {});

// What is known of a file before DPDK opens it.
struct CaptureSurvey {
  uint64_t frames = 0;
  uint32_t longest = 0;  // octets
  CaptureStatistics statistics;
};

// Reads `path` once, as far as it is good. The error says why DPDK should not open it.
Result<CaptureSurvey> SurveyCapture(const std::string& path);

}  // namespace rocescope
