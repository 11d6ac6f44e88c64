// SPDX-License-Identifier: BSD-3-Clause
// `rocescope replay`: reports on captures with host files, or on a run directory.
#pragma once

#include <functional>
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

// Publishes a snapshot each time all input that arrived within another `step` was ingested, as a
// live analysis would, and once more at the end of the input.
struct ReplayWatch {
  Timestamp start;  // the first step starts here
  Duration step;    // greater than zero
  // `now`: all input that arrived before this time is in the snapshot, and no other.
  std::function<void(Timestamp now, const Snapshot& snapshot)> look;
};

struct ReplayOptions {
  CaptureTaps captures;       // merged by time
  std::string run_directory;  // instead of captures; its run.json has defaults for the options
  RunParts parts;             // parts of the run to read
  double mirror_loss = 0;     // share of the run's mirrored frames to drop: 0 to 1
  bool says_view = true;      // also report on standard error what the two options above left out
  bool via_dpdk = false;      // read captures through DPDK's net_pcap ports
  bool faults_alone = false;  // print only the faults instead of the report
  std::vector<DependencyRequest>
      requests;          // queries to answer instead of printing the report; they need a topology
  bool sandbox = false;  // restrict the process, permanently, when the inputs are open
  const ReplayWatch* watch = nullptr;  // optional
  AnalysisOptions analysis;
};

// Replays the input and stores the report, allocated in `arena`, in `report`. Ignores `requests`.
// Returns kExitSuccess, or kExitDamaged if an input could not be read completely; with any other
// code there is no report. Messages go to standard error.
int Replay(const ReplayOptions& options, google::protobuf::Arena& arena,
           const v1::ReplayReport*& report);

// Prints the report to standard output and messages to standard error. Returns an ExitCode.
int RunReplay(const ReplayOptions& options);

}  // namespace rocescope
