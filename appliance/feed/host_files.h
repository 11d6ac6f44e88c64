// SPDX-License-Identifier: BSD-3-Clause
// What hosts left in files: NCCL logs and the output of `rdma resource show qp`.
#pragma once

#include <string>
#include <vector>

#include "analytics/job/attribution.h"
#include "base/result.h"

namespace rocescope {

struct HostFiles {
  HostFacts facts;
  std::vector<std::string> notes;  // sentences about lines that could not be read
};

// Each path is a file or a folder, whose files are all read (not those of folders in it), by name,
// but for captures. A folder without any other is noted.
// An error names the path that is missing or unreadable. A file of more than 4 GiB is refused.
Result<HostFiles> ReadHostFiles(const std::vector<std::string>& nccl_logs,
                                const std::vector<std::string>& rdma);

}  // namespace rocescope
