// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay`: captures and what hosts say about their queue pairs in, or a run directory
// that has it all; one report out.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/command/analysis.h"
#include "appliance/cli/command/dependency.h"
#include "appliance/common/files/run_parts.h"
#include "dataplane/source/tap.h"

namespace google::protobuf {
class Arena;
}

namespace rocescope {

namespace v1 {
class ReplayReport;
}

struct ReplayOptions {
  CaptureTaps captures;       // merged by time
  std::string run_directory;  // in place of captures; its run.json says what is not given here
  RunParts parts;             // of it
  double mirror_loss = 0;     // share of its mirrored frames that are to be lost: 0 to 1
  bool says_view = true;      // on standard error too, what the two above left out
  bool via_dpdk = false;      // as ports of net_pcap
  bool faults_alone = false;  // print these in place of the report
  std::vector<DependencyRequest> requests;  // answered in place of the report; need a topology
  AnalysisOptions analysis;
};

// The report of a replay, whatever `requests` say, in `arena`, and the ExitCode that it ends with:
// kExitSuccess, or kExitDamaged where an input could not be read to its end. With any other there
// is no report. Messages go to standard error.
int Replay(const ReplayOptions& options, google::protobuf::Arena& arena,
           const v1::ReplayReport*& report);

// Prints to standard output; messages go to standard error. Returns an ExitCode.
int RunReplay(const ReplayOptions& options);

}  // namespace rocescope
