// SPDX-License-Identifier: BSD-3-Clause
// Replays capture files through DPDK's net_pcap: the path of a live frame without a NIC.
#pragma once

#include <memory>
#include <span>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

struct CapturePortOptions {
  bool (*stopped)() = nullptr;  // called once per batch; true ends the replay
};

// Starts EAL (once per process) without hugepages or privileges, opens each file as a port, and
// merges the frames by time like OpenCaptures: a microsecond capture yields the same frames. The
// files must be plain Ethernet pcap. They are read twice: net_pcap does not report the end of a
// file or damage, so the frames are counted first. Nanoseconds are truncated to microseconds, which
// a note reports.
Result<std::unique_ptr<CaptureSource>> OpenCapturesAsPorts(std::span<const TapFile> files,
                                                           const CapturePortOptions& options = {});

// Properties of a file, determined before DPDK opens it.
struct CaptureSurvey {
  uint64_t frames = 0;
  uint32_t longest = 0;  // bytes
  CaptureStatistics statistics;
};

// Reads `path` once up to its end or first damage. The error says why DPDK should not open the
// file.
Result<CaptureSurvey> SurveyCapture(const std::string& path);

}  // namespace rocescope
