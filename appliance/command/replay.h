// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay`: captures and what hosts say about their queue pairs in, one report out.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dataplane/source/filter.h"
#include "dataplane/source/tap.h"

namespace rocescope {

enum class ReportFormat { kText, kJson };

struct ReplayOptions {
  CaptureTaps captures;                // merged by time
  std::vector<std::string> nccl_logs;  // files, or folders of them
  std::vector<std::string> rdma;       // output of `rdma -j resource show qp`, likewise
  FrameFilter filter;
  Duration interval = std::chrono::milliseconds(100);  // of flow records, aligned to the epoch
  bool check_icrc = false;
  ReportFormat format = ReportFormat::kText;
};

// Prints to standard output; messages go to standard error. Returns an ExitCode.
int RunReplay(const ReplayOptions& options);

}  // namespace rocescope
