// SPDX-License-Identifier: BSD-3-Clause
// Copies a part of a recorded mirror capture, as if the switches had mirrored less.
//
// A switch samples a mirror session when it decides to copy a frame, before it encapsulates the
// copy. Therefore the ERSPAN sequence numbers count only the sampled frames: they have no gaps for
// frames that were not sampled, but gaps for copies that were lost on the way to the collector.
// CopyMirror does the same: it decides at random for each sequence number of the recording, even
// for the missing ones, and renumbers the sampled ones. Timestamps and truncation do not change.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct MirrorCopyOptions {
  bool leaf_only = false;  // only the sessions of leaf switches
  uint32_t sampling = 1;   // one of this many frames
  uint64_t seed = 1;
};

// Reads a pcap file that the simulator wrote. The error names the file and the position. Returns
// the number of copied frames.
Result<uint64_t> CopyMirror(const std::string& from, const std::string& to,
                            const topology::Fabric& fabric, const MirrorCopyOptions& options);

}  // namespace rocescope::sim
