// SPDX-License-Identifier: BSD-3-Clause
// What the process tells its caller. `rocescope --help` and appliance/README.md repeat the table.
#pragma once

namespace rocescope {

enum ExitCode : int {
  kExitSuccess = 0,     // also when the reader of the output went away (`| head`)
  kExitDamaged = 1,     // an input ended early or is corrupt; what could be read is printed
  kExitUsage = 2,       // the command line is wrong; nothing was read
  kExitUnreadable = 3,  // an input is missing or is nothing that rocescope reads
  kExitOutput = 4,      // the output could not be written, or rocescope itself failed
};

}  // namespace rocescope
