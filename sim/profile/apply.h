// SPDX-License-Identifier: BSD-3-Clause
// Applies a telemetry profile to a recorded run: writes the run directory that a collector would
// have written in a fabric that is polled as the profile says.
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
  // Factor by which the profile's times are multiplied. 0: one analysis window of the run
  // represents one polling period of the switches, or of the NICs if switches are not polled. All
  // runs of the packet model use 0.
  double scale = 0;
};

// Opens the exact counters of the run in `directory`. `fabric` is the fabric of the run and
// outlives the counters. ApplyProfile calls it several times (see OpenExactCounters).
using OpenRecording = std::function<Result<std::shared_ptr<ExactCounters>>(
    const std::string& directory, const topology::Fabric& fabric)>;

// Opens the recording of a run of the packet model, which `rocescope-sim run --record` writes. Use
// each returned opener for one call of ApplyProfile only.
OpenRecording RecordingOpener();

struct ApplyReport {
  RunManifest manifest;
  TransformReport counters;
  uint64_t mirrored_frames = 0;  // copied with sampling or selection; 0 if the file was linked
};

// run.json, topology.yaml and the telemetry contain nothing about the profile. truth.json contains
// its name, the settings that each device got, and the detection limits. Errors name the file. An
// earlier run stays as it is until the new counters are complete, for example if the profile leaves
// no readings; after a later error the directory has no run.json.
Result<ApplyReport> ApplyProfile(const ApplyOptions& options, const Profile& profile,
                                 const OpenRecording& open);

}  // namespace rocescope::sim
