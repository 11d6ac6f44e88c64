// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/change_reason.h"

#include <algorithm>
#include <set>
#include <utility>

#include "analytics/path/crossing.h"
#include "analytics/path/path_finder.h"
#include "topology/route.h"

namespace rocescope {

using topology::Fabric;
using topology::kNone;
using topology::LinkIndex;
using topology::NodeIndex;
using topology::PortIndex;

namespace {

// Changes of one time that are gone through for a flow.
constexpr uint32_t kMaxAsked = 64;

// Ports by which it may have gone, or did.
std::set<PortIndex> PortsOf(const PathInterval& stretch) {
  std::set<PortIndex> ports(stretch.certain.begin(), stretch.certain.end());
  if (stretch.certain.empty()) ports.insert(stretch.path.hops().begin(), stretch.path.hops().end());
  for (const PathShare& share : stretch.shares) ports.insert(share.port);
  return ports;
}

class Explanation {
 public:
  Explanation(const Fabric& fabric, std::span<const LinkChange> changes, const FlowPaths& paths,
              const ChangeReasonOptions& options)
      : fabric_(fabric),
        options_(options),
        changes_(changes),
        use_(fabric.links().size()),
        routes_(fabric),
        crossings_(fabric),
        finder_(routes_, crossings_) {
    changes_of_.resize(fabric.links().size());
    for (const LinkChange& change : changes) changes_of_[change.link].push_back(change);
    for (const FlowPath& path : paths) {
      for (size_t i = 0; i < path.intervals.size(); ++i) {
        const bool left = i + 1 < path.intervals.size();
        Note(path.intervals[i], left ? &path.intervals[i + 1] : nullptr);
      }
    }
  }

  void Explain(const FlowPath& flow, const PathInterval& before, PathInterval& after) {
    if (after.began == PathChange::kNewSourcePort) {
      after.reason = PathReason::kNewSourcePort;
      return;
    }
    if (after.began != PathChange::kRerouted) return;
    const std::vector<LinkIndex> lost = LinksOfOneAlone(before, after);
    if (WentDown(before, after, lost) || CameUp(before, after)) return;
    if (!DealtAnew(flow, before, after)) WentSilent(after, lost);
  }

 private:
  struct Use {
    Timestamp last = Timestamp::min();
    uint32_t leavers = 0;  // flows that were seen to go on elsewhere
  };

  void Note(const PathInterval& stretch, const PathInterval* next) {
    last_ = std::max(last_, stretch.until);
    const std::vector<LinkIndex> left =
        next == nullptr ? std::vector<LinkIndex>() : LinksOfOneAlone(stretch, *next);
    for (const PortIndex port : PortsOf(stretch)) {
      const LinkIndex link = fabric_.port(port).link;
      if (link == kNone) continue;
      Use& use = use_[link];
      use.last = std::max(use.last, stretch.until);
      use.leavers += std::ranges::find(left, link) != left.end();
    }
  }

  // Links of a stretch that are none of another's.
  std::vector<LinkIndex> LinksOfOneAlone(const PathInterval& one, const PathInterval& other) const {
    const std::set<PortIndex> others = PortsOf(other);
    std::vector<LinkIndex> links;
    for (const PortIndex port : PortsOf(one)) {
      if (others.contains(port) || fabric_.port(port).link == kNone) continue;
      links.push_back(fabric_.port(port).link);
    }
    return links;
  }

  // In the time from the last packet of one way to the first of the other.
  const LinkChange* ChangeOf(LinkIndex link, Timestamp from, Timestamp until, bool up) const {
    for (const LinkChange& change : changes_of_[link]) {
      if (change.up == up && change.after <= until + options_.slack &&
          change.by >= from - options_.slack) {
        return &change;
      }
    }
    return nullptr;
  }

  // All links of a switch of which anything is known, and two of them at least.
  NodeIndex DeadSwitch(LinkIndex link, Timestamp from, Timestamp until) const {
    for (const PortIndex end : fabric_.link(link).ends) {
      const NodeIndex node = fabric_.port(end).node;
      if (!fabric_.node(node).IsSwitch()) continue;
      uint32_t down = 0;
      bool others = false;
      for (const topology::Port& port : fabric_.PortsOf(node)) {
        if (port.link == kNone) continue;
        if (ChangeOf(port.link, from, until, false) != nullptr) {
          ++down;
        } else {
          others = true;
        }
      }
      if (down > 1 && !others) return node;
    }
    return kNone;
  }

  bool WentDown(const PathInterval& before, PathInterval& after,
                const std::vector<LinkIndex>& lost) const {
    for (const LinkIndex link : lost) {
      const LinkChange* change = ChangeOf(link, before.until, after.from, false);
      if (change == nullptr) continue;
      after.reason_link = link;
      after.reason_time = change->by;
      after.reason_node = DeadSwitch(link, before.until, after.from);
      after.reason = after.reason_node == kNone ? PathReason::kLinkDown : PathReason::kSwitchDown;
      return true;
    }
    return false;
  }

  // While the old way was taken, and so it is the better one again.
  bool CameUp(const PathInterval& before, PathInterval& after) const {
    for (const LinkIndex link : LinksOfOneAlone(after, before)) {
      const LinkChange* change = ChangeOf(link, before.from, after.from, true);
      if (change == nullptr) continue;
      after.reason = PathReason::kLinkUp;
      after.reason_link = link;
      after.reason_time = change->by;
      return true;
    }
    return false;
  }

  // A switch that has a next hop more or less deals out all flows anew.
  bool DealtAnew(const FlowPath& flow, const PathInterval& before, PathInterval& after) {
    uint32_t asked = 0;
    for (const LinkChange& change : changes_) {
      const bool meanwhile =
          change.after <= after.from + options_.slack && change.by >= before.until - options_.slack;
      if (!meanwhile) continue;
      if (++asked > kMaxAsked) return false;
      for (const PortIndex port : fabric_.link(change.link).ends) {
        const CrossingId crossing = port;
        if (!finder_.Exists({.source = flow.source,
                             .destination = flow.destination,
                             .crossings = std::span(&crossing, 1)})) {
          continue;
        }
        after.reason = PathReason::kRehashed;
        after.reason_link = change.link;
        after.reason_time = change.by;
        return true;
      }
    }
    return false;
  }

  // Whoever was on it left, and others were seen for long after.
  void WentSilent(PathInterval& after, const std::vector<LinkIndex>& lost) const {
    for (const LinkIndex link : lost) {
      const Use& use = use_[link];
      if (use.leavers < options_.leavers || use.last > after.from + options_.slack ||
          last_ - use.last < 10 * options_.slack) {
        continue;
      }
      if (after.reason == PathReason::kLinkSilent &&
          use_[after.reason_link].leavers >= use.leavers) {
        continue;
      }
      after.reason = PathReason::kLinkSilent;
      after.reason_link = link;
      after.reason_time = use.last;
    }
  }

  const Fabric& fabric_;
  const ChangeReasonOptions& options_;
  const std::span<const LinkChange> changes_;
  std::vector<std::vector<LinkChange>> changes_of_;  // by link
  std::vector<Use> use_;                             // likewise
  Timestamp last_ = Timestamp::min();
  topology::Routes routes_;
  const CrossingTable crossings_;
  PathFinder finder_;
};

}  // namespace

std::shared_ptr<const FlowPaths> ExplainChanges(const Fabric& fabric,
                                                std::span<const LinkChange> changes,
                                                std::shared_ptr<const FlowPaths> paths,
                                                const ChangeReasonOptions& options) {
  std::vector<FlowKey> keys;
  std::vector<FlowPath> changed;
  for (const FlowPath& path : *paths) {
    if (path.intervals.size() < 2) continue;
    keys.push_back(path.flow);
    changed.push_back(path);
  }
  if (changed.empty()) return paths;
  Explanation explanation(fabric, changes, *paths, options);
  for (FlowPath& path : changed) {
    for (size_t i = 1; i < path.intervals.size(); ++i) {
      explanation.Explain(path, path.intervals[i - 1], path.intervals[i]);
    }
  }
  return std::make_shared<const FlowPaths>(paths->With(keys, std::move(changed), &FlowPath::flow));
}

}  // namespace rocescope
