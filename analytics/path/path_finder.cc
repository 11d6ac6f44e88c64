// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/path_finder.h"

#include <algorithm>

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

std::vector<topology::Path> PathFinder::Find(const PathQuestion& question, size_t most) {
  found_.clear();
  if (question.source == kNone || question.destination == kNone ||
      question.source == question.destination) {
    return {};
  }
  question_ = &question;
  most_ = std::min(most, kMaxPaths);
  const PortIndex first = routes_.fabric().nic(question.source).port;
  path_ = {};
  path_.ports[path_.length++] = first;
  const NodeIndex edge = routes_.EdgeOf(question.source);
  if (edge != kNone) Extend(edge);
  return std::move(found_);
}

void PathFinder::Extend(NodeIndex node) {
  const topology::Fabric& fabric = routes_.fabric();
  for (const PortIndex port : routes_.NextHops(node, question_->destination)) {
    if (found_.size() >= most_ || path_.length == topology::Path::kMaxHops) return;
    // A crossing that is a single port of this node leaves no choice.
    const bool ruled_out = std::ranges::any_of(question_->crossings, [&](CrossingId crossing) {
      return crossing != port && crossing < fabric.ports().size() &&
             fabric.port(crossing).node == node;
    });
    if (ruled_out) continue;
    path_.ports[path_.length++] = port;
    const NodeIndex next = fabric.PeerNode(port);
    if (fabric.node(next).IsSwitch()) {
      Extend(next);
    } else if (Agrees()) {
      found_.push_back(path_);
    }
    path_.ports[--path_.length] = 0;
  }
}

bool PathFinder::Agrees() const {
  return std::ranges::all_of(question_->crossings, [&](CrossingId crossing) {
    return std::ranges::any_of(path_.hops(),
                               [&](PortIndex port) { return crossings_.Contains(crossing, port); });
  });
}

}  // namespace rocescope
