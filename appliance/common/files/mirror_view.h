// SPDX-License-Identifier: BSD-3-Clause
// Selects mirrored frames of a capture, to emulate a fabric with fewer mirror sessions or an
// overloaded mirror path.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "appliance/common/files/run_parts.h"
#include "base/address.h"
#include "dataplane/decode/frame.h"
#include "topology/fabric.h"

namespace rocescope {

class MirrorView {
 public:
  struct Options {
    MirrorSessions sessions = MirrorSessions::kAll;
    double loss = 0;  // share of lost frames: 0 to 1
    // To determine the leaves, in the constructor only; nullptr: no leaves.
    const topology::Fabric* fabric = nullptr;
  };
  explicit MirrorView(const Options& options);

  bool ShowsAll() const { return sessions_ == MirrorSessions::kAll && loss_ == 0; }

  // Moves the selected frames to the front of `batch`, in order, and returns their number. Frames
  // that are not mirrored are kept. The same input always loses the same frames.
  size_t Keep(std::span<RawFrame> batch);

  // The number of frames that were excluded by the selection, and that were lost on the mirror
  // path.
  uint64_t unsent() const { return unsent_; }
  uint64_t lost() const { return lost_; }

 private:
  bool Sends(const MirrorInfo& mirror) const;

  const MirrorSessions sessions_;
  const double loss_;
  std::set<IpAddress> leaves_;  // by ERSPAN source address
  uint64_t sent_ = 0;
  uint64_t unsent_ = 0;
  uint64_t lost_ = 0;
};

// True if each switch that `sessions` covers has such a session in the topology.
bool HasSessions(const topology::Fabric& fabric, MirrorSessions sessions);

}  // namespace rocescope
