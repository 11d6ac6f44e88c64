// SPDX-License-Identifier: BSD-3-Clause
// Starts and completes a run directory that an earlier run may have used.
#pragma once

#include <string>

#include "base/result.h"
#include "dataplane/run/manifest.h"

namespace rocescope::sim {

// Removes the files of an earlier run, because files that the new run does not write (and, until
// the end, truth.json) would be mistaken for its own. Acts only if run.json, or the run.json.part
// of an unfinished run, identifies the directory as a run directory; run.json goes first, because a
// directory without it is not a run. In any directory, removes symbolic links and hard links in the
// place of these files and of their folders: writing through them would change another run.
// The directory is unfinished until FinishRun. The error names the file.
Status BeginRun(const std::string& directory);

// Writes run.json.
Status FinishRun(const std::string& directory, const RunManifest& manifest);

}  // namespace rocescope::sim
