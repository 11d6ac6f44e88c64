// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/mirror_view.h"

#include "base/hash.h"
#include "dataplane/decode/address_pair.h"

namespace rocescope {

MirrorView::MirrorView(const Options& options) : sessions_(options.sessions), loss_(options.loss) {
  if (options.fabric == nullptr) return;
  for (const topology::Node& node : options.fabric->nodes()) {
    if (node.tier == topology::Tier::kLeaf) leaves_.insert(node.erspan_source);
  }
}

bool MirrorView::Sends(const MirrorInfo& mirror) const {
  switch (sessions_) {
    case MirrorSessions::kNone:
      return false;
    case MirrorSessions::kAll:
      return true;
    case MirrorSessions::kPorts:
      return mirror.has_port_index;
    case MirrorSessions::kLeafPorts:
      return mirror.has_port_index && leaves_.contains(mirror.source);
    case MirrorSessions::kPortSets:
      return !mirror.has_port_index;
  }
  return true;
}

bool HasSessions(const topology::Fabric& fabric, MirrorSessions sessions) {
  if (sessions == MirrorSessions::kNone) return true;
  if (sessions == MirrorSessions::kAll) return !fabric.taps().empty();
  const bool names_port = sessions != MirrorSessions::kPortSets;
  std::set<topology::NodeIndex> mirrored;
  for (const topology::Tap& tap : fabric.taps()) {
    if (tap.names_port == names_port) mirrored.insert(tap.node);
  }
  for (topology::NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    const topology::Node& at = fabric.node(node);
    if (!at.IsSwitch()) continue;
    if (sessions == MirrorSessions::kLeafPorts && at.tier != topology::Tier::kLeaf) continue;
    if (!mirrored.contains(node)) return false;
  }
  return true;
}

size_t MirrorView::Keep(std::span<RawFrame> batch) {
  size_t kept = 0;
  for (RawFrame& frame : batch) {
    const MirrorInfo mirror = FindMirror(frame);
    const bool mirrored = mirror.kind == MirrorKind::kErspan1 ||
                          mirror.kind == MirrorKind::kErspan2 ||
                          mirror.kind == MirrorKind::kErspan3;
    if (mirrored && !Sends(mirror)) {
      ++unsent_;
      continue;
    }
    // the upper 53 bits of the hash as a double in [0, 1)
    if (mirrored && static_cast<double>(Mix64(++sent_) >> 11) * 0x1p-53 < loss_) {
      ++lost_;
      continue;
    }
    batch[kept++] = frame;
  }
  return kept;
}

}  // namespace rocescope
