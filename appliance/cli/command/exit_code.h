// SPDX-License-Identifier: BSD-3-Clause
// The exit codes of the process. `rocescope --help` and appliance/README.md repeat this table.
#pragma once

namespace rocescope {

enum ExitCode : int {
  // A closed pipe (`| head`), or a signal while standard input is read, is not an error.
  kExitSuccess = 0,
  // The printed results cover only a part of the input, because it is damaged, because a run lacks
  // data that its run.json lists, or because a signal ended the reading of a file.
  kExitDamaged = 1,
  kExitUsage = 2,       // the command line is invalid; nothing was read
  kExitUnreadable = 3,  // an input is missing or has an unknown format
  kExitOutput = 4,      // output failed, out of memory, or an internal error
};

}  // namespace rocescope
