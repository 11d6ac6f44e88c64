// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/crossing.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rocescope {

using topology::kNone;
using topology::PortIndex;

CrossingTable::CrossingTable(const topology::Fabric& fabric)
    : fabric_(fabric), single_(fabric.ports().size()), watched_(fabric.ports().size()) {
  std::iota(single_.begin(), single_.end(), 0u);
}

void CrossingTable::LearnTap(const TapLocation& place) {
  const topology::NodeIndex node = fabric_.FindSwitchByErspan(place.switch_address);
  if (node == kNone) return;
  std::vector<PortIndex> watched;
  if (place.has_port) {
    const PortIndex port = fabric_.FindPortByNumber(node, place.port);
    if (port != kNone) watched.push_back(port);
  } else {
    const topology::TapIndex tap =
        fabric_.FindTap(node, place.session,
                        place.side == TapSide::kEgress ? topology::TapDirection::kEgress
                                                       : topology::TapDirection::kIngress);
    if (tap != kNone) watched = fabric_.tap(tap).ports;
  }
  std::vector<PortIndex> senders;
  for (const PortIndex port : watched) {
    const PortIndex peer = fabric_.Peer(port);
    if (place.side != TapSide::kEgress && peer != kNone) senders.push_back(peer);
    if (place.side != TapSide::kIngress) senders.push_back(port);
  }
  if (!senders.empty()) Watch(place.tap, std::move(senders));
}

void CrossingTable::Watch(TapId tap, std::vector<PortIndex> ports) {
  std::ranges::sort(ports);
  if (tap >= of_tap_.size()) of_tap_.resize(size_t{tap} + 1, kNoCrossing);
  CrossingId id = ports.front();
  if (ports.size() > 1) {
    const auto known = std::ranges::find(sets_, ports);
    id = static_cast<CrossingId>(single_.size() + static_cast<size_t>(known - sets_.begin()));
    if (known == sets_.end()) sets_.push_back(ports);
  }
  of_tap_[tap] = id;
  for (const PortIndex port : ports) {
    if (std::ranges::find(watched_[port], id) == watched_[port].end()) watched_[port].push_back(id);
  }
}

CrossingId CrossingTable::Leaving(topology::NodeIndex node, uint32_t port_number) const {
  return fabric_.FindPortByNumber(node, port_number);
}

CrossingId CrossingTable::Entering(topology::NodeIndex node, uint32_t port_number) const {
  const PortIndex port = fabric_.FindPortByNumber(node, port_number);
  return port == kNone ? kNoCrossing : fabric_.Peer(port);
}

std::span<const PortIndex> CrossingTable::PortsOf(CrossingId crossing) const {
  if (crossing < single_.size()) return std::span(single_).subspan(crossing, 1);
  return sets_[crossing - single_.size()];
}

bool CrossingTable::Contains(CrossingId crossing, PortIndex port) const {
  return crossing < single_.size() ? crossing == port
                                   : std::ranges::binary_search(PortsOf(crossing), port);
}

}  // namespace rocescope
