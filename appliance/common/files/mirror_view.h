// SPDX-License-Identifier: BSD-3-Clause
// Some of the mirrored frames of a capture, as if the fabric had fewer mirror sessions, or the way
// from them to the box were overloaded.
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
    double loss = 0;                           // share of frames that never arrive: 0 to 1
    const topology::Fabric* fabric = nullptr;  // asked once which leaves are; nullptr: none
  };
  explicit MirrorView(const Options& options);

  bool ShowsAll() const { return sessions_ == MirrorSessions::kAll && loss_ == 0; }

  // Moves what is seen to the front of `batch`, in its order, and returns how much that is; what no
  // switch mirrored stays. The same frames are lost in every run over the same input.
  size_t Keep(std::span<RawFrame> batch);

  // Frames that the mirrors so far did not send, and that were lost on the way.
  uint64_t unsent() const { return unsent_; }
  uint64_t lost() const { return lost_; }

 private:
  bool Sends(const MirrorInfo& mirror) const;

  const MirrorSessions sessions_;
  const double loss_;
  std::set<IpAddress> leaves_;  // by ERSPAN source
  uint64_t sent_ = 0;
  uint64_t unsent_ = 0;
  uint64_t lost_ = 0;
};

// Whether each switch that `sessions` is about has such a session in the fabric's description.
bool HasSessions(const topology::Fabric& fabric, MirrorSessions sessions);

}  // namespace rocescope
