// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay`: captures and what hosts say about their queue pairs in, one report out.
#pragma once

#include "appliance/command/analysis.h"
#include "dataplane/source/tap.h"

namespace rocescope {

struct ReplayOptions {
  CaptureTaps captures;   // merged by time
  bool via_dpdk = false;  // as ports of net_pcap
  AnalysisOptions analysis;
};

// Prints to standard output; messages go to standard error. Returns an ExitCode.
int RunReplay(const ReplayOptions& options);

}  // namespace rocescope
