// SPDX-License-Identifier: BSD-3-Clause
// What hosts and schedulers left in files: NCCL logs, the output of `rdma resource show qp`, and of
// `squeue --json`.
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
  NcclLogs logs;                   // whence the jobs are, for whoever hears of more logs later
  std::vector<std::string> notes;  // sentences about lines that could not be read
};

// Each path is a file or a folder, whose files are all read (not those of folders in it), by name,
// but for captures. A folder without any other is noted.
// An error names the path that is missing or unreadable. A file of more than 4 GiB is refused, of
// more than 1 GiB if it is of Slurm. Where pipes are refused, as by a box, which has other work to
// go on with, so is every file of more than 1 GiB.
Result<HostFiles> ReadHostFiles(const HostFilePaths& paths, Pipes pipes = Pipes::kRefused);

}  // namespace rocescope
