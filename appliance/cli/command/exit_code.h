// SPDX-License-Identifier: BSD-3-Clause
// What the process tells its caller. `rocescope --help` and appliance/README.md repeat the table.
#pragma once

namespace rocescope {

enum ExitCode : int {
  // Also when the reader of the output went away (`| head`), or a signal ended standard input.
  kExitSuccess = 0,
  // An input is corrupt or ended early, be it by a signal, or a run lacks what its manifest tells
  // of;
  // what could be read is printed.
  kExitDamaged = 1,
  kExitUsage = 2,       // the command line is wrong; nothing was read
  kExitUnreadable = 3,  // an input is missing or is nothing that rocescope reads
  kExitOutput = 4,      // the output could not be written, memory ran out, rocescope itself failed
};

}  // namespace rocescope
