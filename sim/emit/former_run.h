// SPDX-License-Identifier: BSD-3-Clause
// Prepares a run directory that an earlier run may have used.
#pragma once

#include <string>

namespace rocescope::sim {

// Removes the files of an earlier run, because files that the new run does not write (and, until
// the end, truth.json) would be mistaken for its own. Acts only if run.json identifies the
// directory as a run directory; it goes first, because a directory without it is not a run. In any
// directory, removes symbolic links and hard links in the place of these files and of their
// folders: writing through them would change another run.
void RemoveFormerRun(const std::string& directory);

}  // namespace rocescope::sim
