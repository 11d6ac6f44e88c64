// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of the process. `rocescope --help` and appliance/README.md repeat this table.
#pragma once

namespace rocescope {

enum ExitCode : int {
  // Also if the reader of the output closed the pipe (`| head`), or a signal ended standard input.
  kExitSuccess = 0,
  // An input is corrupt or ended early, maybe by a signal, or a run lacks data that its manifest
  // lists. The results for the readable part are printed.
  kExitDamaged = 1,
  kExitUsage = 2,       // the command line is invalid; nothing was read
  kExitUnreadable = 3,  // an input is missing or has an unknown format
  kExitOutput = 4,      // output failed, out of memory, or an internal error
};

}  // namespace rocescope
