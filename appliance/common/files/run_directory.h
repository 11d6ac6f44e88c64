// SPDX-License-Identifier: BSD-3-Clause
// What a run directory holds (dataplane/run/README.md), to be replayed. The truth about a run is
// not among it: truth.json is never opened.
#pragma once

#include <string>
#include <vector>

#include "appliance/common/files/run_parts.h"
#include "base/result.h"
#include "dataplane/run/manifest.h"

namespace rocescope {

struct RunDirectory {
  RunManifest manifest;
  std::vector<std::string> captures;   // of mirror.pcap, int.pcap, sflow.pcap those that are there
  std::string counters;                // counters.jsonl; empty if it is not there
  std::vector<std::string> nccl_logs;  // the folder nccl/, likewise
  std::vector<std::string> rdma;       // the folder rdma/
  std::vector<std::string> slurm;      // slurm.json
  std::string topology;                // topology.yaml; empty if it is not there
  std::vector<std::string> notes;      // what run.json lets expect and is not there
};

// The error names the path: no run.json in it, or one that is wrong.
Result<RunDirectory> OpenRunDirectory(const std::string& path, const RunParts& parts = {});

}  // namespace rocescope
