// SPDX-License-Identifier: BSD-3-Clause
// All the ways that a flow from one NIC to another may take under ECMP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "topology/fabric.h"
#include "topology/route.h"

namespace rocescope::topology {

// The ports by which a frame leaves: the source NIC's, then one of each switch. Their links are the
// path's, the last of them the destination's own.
struct Path {
  // Up and down through three tiers of switches, and the NIC's.
  static constexpr size_t kMaxHops = 2 * (kTierCount - 1);

  std::array<PortIndex, kMaxHops> ports{};
  size_t length = 0;

  std::span<const PortIndex> hops() const& { return std::span(ports).first(length); }
  std::span<const PortIndex> hops() const&& = delete;  // they would outlive the path

  friend bool operator==(const Path& a, const Path& b) {
    return a.length == b.length && a.ports == b.ports;
  }
};

// The paths between two NICs as routing has them at the time of making: counted without visiting
// them one by one, numbered in the order of their ports' numbers, hop by hop. Stays as it is when
// links fail later; the fabric must outlive it. Safe to read from any thread.
class PathSet {
 public:
  static constexpr uint64_t kCountless = std::numeric_limits<uint64_t>::max();

  struct LinkShare {
    LinkIndex link = kNone;
    double share = 0;
  };

  // No path: where there is no way, and from a NIC to itself, whose frames do not leave.
  PathSet(Routes& routes, NicIndex source, NicIndex destination);

  // kCountless stands for itself and all above.
  uint64_t Count() const { return count_; }

  // Path number `number`, which is below Count().
  Path At(uint64_t number) const;

  // What part of the paths goes over the link, 0 to 1, where every switch spreads evenly over its
  // next hops. Where links have failed, paths are not equally likely: this is by next hop, not by
  // path.
  double Share(LinkIndex link) const;
  bool Contains(LinkIndex link) const { return Share(link) > 0; }
  // All links that any path uses, in the order of their indices.
  std::span<const LinkShare> links() const { return links_; }

 private:
  // A switch on the way, and its ways on: ways_[first] up to ways_[last].
  struct Step {
    NodeIndex node = kNone;
    size_t first = 0;
    size_t last = 0;
    uint64_t count = 0;  // of paths from here
  };
  struct Way {
    PortIndex port = kNone;
    size_t next = 0;  // in steps_; kArrived
  };
  static constexpr size_t kArrived = std::numeric_limits<size_t>::max();

  void Walk(Routes& routes, NicIndex destination, NodeIndex from);
  void CountPaths();
  void ShareLinks();
  uint64_t CountFrom(size_t step) const { return step == kArrived ? 1 : steps_[step].count; }

  const Fabric& fabric_;
  PortIndex source_ = kNone;
  uint64_t count_ = 0;
  std::vector<Step> steps_;  // from the source outwards: a step's ways lead behind it
  std::vector<Way> ways_;
  std::vector<LinkShare> links_;
};

}  // namespace rocescope::topology
