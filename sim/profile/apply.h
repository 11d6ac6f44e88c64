// SPDX-License-Identifier: BSD-3-Clause
// Writes the run directory that a collector with a telemetry profile would have written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataplane/run/manifest.h"
#include "sim/profile/profile.h"
#include "sim/profile/transform.h"
#include "sim/recording/exact_counters.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct ApplyOptions {
  std::string run;        // directory with the exact recording
  std::string directory;  // created if it does not exist; an earlier run in it is replaced
  uint64_t seed = 1;
  std::vector<ProfileOverride> overrides;
  // Factor by which the profile's times are multiplied. 0: one analysis window of the run is
  // for one polling period of switches, as in all runs of the packet model.
  double scale = 0;
};

// Opens the exact counters of the run in `directory`, whose fabric outlives them. Called several
// times: see OpenExactCounters.
using OpenRecording = std::function<Result<std::shared_ptr<ExactCounters>>(
    const std::string& directory, const topology::Fabric& fabric)>;

// Opens the recording of a run of the packet model, which `rocescope-sim run --record` writes. For
// one call of ApplyProfile.
OpenRecording RecordingOpener();

struct ApplyReport {
  RunManifest manifest;
  TransformReport counters;
  uint64_t mirrored_frames = 0;  // copied with sampling or selection; 0 if the file was linked
};

// run.json, topology.yaml and the telemetry contain nothing about the profile; truth.json has its
// name, what each device got, and the detection limits. Errors name the file.
Result<ApplyReport> ApplyProfile(const ApplyOptions& options, const Profile& profile,
                                 const OpenRecording& open);

}  // namespace rocescope::sim
