// SPDX-License-Identifier: BSD-3-Clause
// The contents of a run directory (dataplane/run/README.md) for a replay. truth.json is never
// opened.
#pragma once

#include <string>
#include <vector>

#include "appliance/common/files/run_parts.h"
#include "base/result.h"
#include "dataplane/run/manifest.h"

namespace rocescope {

struct RunDirectory {
  RunManifest manifest;
  std::vector<std::string> captures;   // those of mirror.pcap, int.pcap and sflow.pcap that exist
  std::string counters;                // counters.jsonl or counters.columns; empty if missing
  std::vector<std::string> nccl_logs;  // the directory nccl/; empty if missing
  std::vector<std::string> rdma;       // the directory rdma/
  std::vector<std::string> slurm;      // slurm.json
  std::string topology;                // topology.yaml; empty if missing
  std::vector<std::string> notes;      // parts that run.json lists but that are missing
};

// The error names a path without a run.json, with an invalid one, or with counters in both forms.
Result<RunDirectory> OpenRunDirectory(const std::string& path, const RunParts& parts = {});

}  // namespace rocescope
