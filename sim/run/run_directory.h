// SPDX-License-Identifier: BSD-3-Clause
// What the run directories of both models have in common.
#pragma once

#include <string>

#include "base/result.h"
#include "dataplane/run/manifest.h"
#include "sim/scenario/scenario.h"
#include "topology/fabric.h"

namespace rocescope::sim {

// Creates the directory, or removes the run in it, and writes topology.yaml with the declared
// fabric. kUnavailable: it cannot be written.
Status PrepareRunDirectory(const Scenario& scenario, const topology::Fabric& fabric,
                           const std::string& directory);

// `stream`: the frames are not in the directory.
RunManifest ManifestOf(const Scenario& scenario, const topology::Fabric& fabric, bool stream);

}  // namespace rocescope::sim
