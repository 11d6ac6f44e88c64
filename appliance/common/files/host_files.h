// SPDX-License-Identifier: BSD-3-Clause
// Host and scheduler data in files: NCCL logs, output of `rdma resource show qp` and of `squeue
// --json`.
#pragma once

#include <string>
#include <vector>

#include "analytics/job/attribution.h"
#include "appliance/common/files/text_file.h"
#include "base/result.h"

namespace rocescope {

struct HostFilePaths {
  std::vector<std::string> nccl_logs;
  std::vector<std::string> rdma;
  std::vector<std::string> slurm;
};

struct HostFiles {
  HostFacts facts;
  NcclLogs logs;                   // the source of the jobs, for regrouping with later logs
  std::vector<std::string> notes;  // sentences about lines that could not be parsed
};

// Each path is a file, or a directory whose files are read in order of their names (without
// subdirectories and captures). A directory without such files gives a note. An error names the
// missing or unreadable path. The limit is 4 GiB per file, 1 GiB for Slurm files, and 1 GiB for all
// files if pipes are refused, as in the appliance.
Result<HostFiles> ReadHostFiles(const HostFilePaths& paths, Pipes pipes = Pipes::kRefused);

}  // namespace rocescope
