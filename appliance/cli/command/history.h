// SPDX-License-Identifier: BSD-3-Clause
// `rocescope history`: backup, restore and description of the files of history, jobs and findings.
#pragma once

#include <string>

namespace rocescope {

struct HistoryFileOptions {
  std::string config = "/etc/rocescope/appliance.yaml";
  bool jobs = false;      // the file of registered jobs instead of the history
  bool findings = false;  // the file of acknowledgements and mutes instead of the history
  std::string file;       // the backup to write or to restore, or the file to describe
};

// Each returns an ExitCode.
int RunHistoryBackup(const HistoryFileOptions& options);
int RunHistoryRestore(const HistoryFileOptions& options);
int RunHistoryInfo(const HistoryFileOptions& options);

}  // namespace rocescope
