// SPDX-License-Identifier: BSD-3-Clause
// recording/recording.json: the run to which a recording belongs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "dataplane/run/manifest.h"

namespace rocescope::sim {

// The files of a recording in a run directory: of the packet model, of the flow model, and of both.
inline constexpr const char* kRecordingFile = "recording/counters.columns";
inline constexpr const char* kHistoryFile = "recording/history.columns";
inline constexpr const char* kIdentityFile = "recording/recording.json";
// The error if the first or second one is missing.
inline constexpr const char* kNoRecording =
    "no exact recording; simulate the scenario with `rocescope-sim run --record`";

struct RecordingIdentity {
  std::string scenario;
  uint64_t seed = 0;
  Timestamp epoch;
  Duration duration{};
  // The recorded file: its name, length and CRC-32.
  std::string file;
  uint64_t bytes = 0;
  uint32_t crc32 = 0;
};

// `file` is kRecordingFile or kHistoryFile, and complete. Writes kIdentityFile.
Status WriteIdentity(const std::string& run, const std::string& file, const RunManifest& manifest);

// kNotFound: the recording has none, because an earlier version wrote it.
Result<RecordingIdentity> ReadIdentity(const std::string& run);

// The recording must be of the run that the manifest describes.
Status CheckIdentity(const RecordingIdentity& identity, const std::string& run,
                     const RunManifest& manifest);

// The recorded file must be the one that the identity describes. Reads the whole file.
Status CheckRecordedBytes(const RecordingIdentity& identity, const std::string& run);

}  // namespace rocescope::sim
