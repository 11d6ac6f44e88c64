// SPDX-License-Identifier: BSD-3-Clause
// Which of the ways between two NICs agree with what was seen of a flow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analytics/path/crossing.h"
#include "topology/ecmp.h"
#include "topology/route.h"

namespace rocescope {

// Two NICs and crossings: the paths of an intact fabric from one to the other that include a port
// of each crossing.
struct PathQuestion {
  topology::NicIndex source = topology::kNone;
  topology::NicIndex destination = topology::kNone;
  std::span<const CrossingId> crossings;
};

class PathFinder {
 public:
  static constexpr size_t kMaxPaths = 4096;  // that are gone through for an answer

  // Routes and crossings must outlive it.
  PathFinder(topology::Routes& routes, const CrossingTable& crossings)
      : routes_(routes), crossings_(crossings) {}

  // In the order of their ports' numbers, hop by hop; no more than `most`, which is at most
  // kMaxPaths.
  std::vector<topology::Path> Find(const PathQuestion& question, size_t most = kMaxPaths);
  bool Exists(const PathQuestion& question) { return !Find(question, 1).empty(); }

 private:
  void Extend(topology::NodeIndex node);
  bool Agrees() const;

  topology::Routes& routes_;
  const CrossingTable& crossings_;
  // Of the question at hand.
  const PathQuestion* question_ = nullptr;
  size_t most_ = 0;
  topology::Path path_;
  std::vector<topology::Path> found_;
};

}  // namespace rocescope
