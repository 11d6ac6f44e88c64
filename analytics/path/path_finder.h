// SPDX-License-Identifier: BSD-3-Clause
// Finds the paths between two NICs that are consistent with a flow's observations.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/path/crossing.h"
#include "topology/ecmp.h"
#include "topology/route.h"

namespace rocescope {

// Describes a query for the paths between two NICs in a fabric without faults. A path must include
// a port of each crossing (a set of sending ports; see crossing.h).
struct PathQuestion {
  topology::NicIndex source = topology::kNone;
  topology::NicIndex destination = topology::kNone;
  std::span<const CrossingId> crossings;
};

class PathFinder {
 public:
  static constexpr size_t kMaxPaths = 4096;  // maximum number of paths enumerated

  // `routes` and `crossings` must outlive this object.
  PathFinder(topology::Routes& routes, const CrossingTable& crossings)
      : routes_(routes), crossings_(crossings) {}

  // Returns up to `most` paths (at most kMaxPaths), ordered by port numbers hop by hop.
  std::vector<topology::Path> Find(const PathQuestion& question, size_t most = kMaxPaths);
  bool Exists(const PathQuestion& question) { return !Find(question, 1).empty(); }

 private:
  void Extend(topology::NodeIndex node);
  bool Agrees() const;

  topology::Routes& routes_;
  const CrossingTable& crossings_;
  // State of the current search.
  const PathQuestion* question_ = nullptr;
  size_t most_ = 0;
  topology::Path path_;
  std::vector<topology::Path> found_;
};

}  // namespace rocescope
