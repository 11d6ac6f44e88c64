// SPDX-License-Identifier: BSD-3-Clause
// All paths that a flow between two NICs can take with ECMP.
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

// The egress ports of a path: the source NIC's, then one of each switch. Their links form the path;
// the last one is the destination's own link.
struct Path {
  // The NIC's port, and up and down through three tiers of switches.
  static constexpr size_t kMaxHops = 2 * (kTierCount - 1);

  std::array<PortIndex, kMaxHops> ports{};
  size_t length = 0;

  std::span<const PortIndex> hops() const& { return std::span(ports).first(length); }
  std::span<const PortIndex> hops() const&& = delete;  // deleted: the span would outlive the path

  friend bool operator==(const Path& a, const Path& b) {
    return a.length == b.length && a.ports == b.ports;
  }
};

// The paths between two NICs according to the routes at construction. They are counted without
// enumerating them, and numbered in the order of the port numbers, hop by hop. Later link failures
// do not change the object. The fabric must outlive it. Thread-safe for reading.
class PathSet {
 public:
  static constexpr uint64_t kCountless = std::numeric_limits<uint64_t>::max();

  struct LinkShare {
    LinkIndex link = kNone;
    PortIndex sender = kNone;  // the end that sends
    double share = 0;
  };

  // There are no paths if the destination is unreachable, or from a NIC to itself.
  PathSet(Routes& routes, NicIndex source, NicIndex destination);

  // kCountless means this number or more.
  uint64_t Count() const { return count_; }

  // Returns path number `number`, which must be below Count().
  Path At(uint64_t number) const;

  // Returns the fraction of traffic on the link, 0 to 1, if every switch balances evenly over its
  // next hops. With failed links, paths are not equally likely: the fraction follows the next hops,
  // not the number of paths.
  double Share(LinkIndex link) const;
  bool Contains(LinkIndex link) const { return Share(link) > 0; }
  // All links that any path uses, sorted by index.
  std::span<const LinkShare> links() const { return links_; }

 private:
  // A switch on the paths and its next hops: ways_[first] to ways_[last - 1].
  struct Step {
    NodeIndex node = kNone;
    size_t first = 0;
    size_t last = 0;
    uint64_t count = 0;  // number of paths from here
  };
  struct Way {
    PortIndex port = kNone;
    size_t next = 0;  // index in steps_; kArrived at the destination
  };
  static constexpr size_t kArrived = std::numeric_limits<size_t>::max();

  void Walk(Routes& routes, NicIndex destination, NodeIndex from);
  void CountPaths();
  void ShareLinks();
  uint64_t CountFrom(size_t step) const { return step == kArrived ? 1 : steps_[step].count; }

  const Fabric& fabric_;
  PortIndex source_ = kNone;
  uint64_t count_ = 0;
  std::vector<Step> steps_;  // ordered from the source: the next steps of a step come later
  std::vector<Way> ways_;
  std::vector<LinkShare> links_;
};

}  // namespace rocescope::topology
