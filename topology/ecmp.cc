// SPDX-License-Identifier: BSD-3-Clause
#include "topology/ecmp.h"

#include <algorithm>
#include <unordered_map>

namespace rocescope::topology {
namespace {

uint64_t AddSaturating(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? PathSet::kCountless : sum;
}

}  // namespace

PathSet::PathSet(Routes& routes, NicIndex source, NicIndex destination)
    : fabric_(routes.fabric()), source_(fabric_.nic(source).port) {
  const PortIndex peer = fabric_.Peer(source_);
  if (source == destination || peer == kNone || routes.Failed(fabric_.port(source_).link)) return;
  if (peer == fabric_.nic(destination).port) {  // connected back to back, without a switch
    count_ = 1;
  } else if (routes.EdgeOf(source) != kNone) {
    Walk(routes, destination, routes.EdgeOf(source));
    CountPaths();
  }
  if (count_ > 0) ShareLinks();
}

void PathSet::Walk(Routes& routes, NicIndex destination, NodeIndex from) {
  // Every hop is one closer to the destination, so breadth-first order is a topological order.
  std::unordered_map<NodeIndex, size_t> step_of = {{from, 0}};
  steps_.push_back({.node = from});
  for (size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].first = ways_.size();
    for (const PortIndex port : routes.NextHops(steps_[i].node, destination)) {
      if (fabric_.Peer(port) == fabric_.nic(destination).port) {
        ways_.push_back({.port = port, .next = kArrived});
        continue;
      }
      const NodeIndex node = fabric_.PeerNode(port);
      const auto [at, is_new] = step_of.try_emplace(node, steps_.size());
      if (is_new) steps_.push_back({.node = node});
      ways_.push_back({.port = port, .next = at->second});
    }
    steps_[i].last = ways_.size();
  }
}

void PathSet::CountPaths() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    for (size_t w = step->first; w < step->last; ++w) {
      step->count = AddSaturating(step->count, CountFrom(ways_[w].next));
    }
  }
  count_ = steps_.front().count;
}

void PathSet::ShareLinks() {
  links_.push_back({.link = fabric_.port(source_).link, .sender = source_, .share = 1});
  std::vector<double> share(steps_.size());
  if (!share.empty()) share[0] = 1;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const double each = share[i] / static_cast<double>(steps_[i].last - steps_[i].first);
    for (size_t w = steps_[i].first; w < steps_[i].last; ++w) {
      links_.push_back(
          {.link = fabric_.port(ways_[w].port).link, .sender = ways_[w].port, .share = each});
      if (ways_[w].next != kArrived) share[ways_[w].next] += each;
    }
  }
  std::sort(links_.begin(), links_.end(),
            [](const LinkShare& a, const LinkShare& b) { return a.link < b.link; });
}

Path PathSet::At(uint64_t number) const {
  Path path;
  path.ports[path.length++] = source_;
  for (size_t step = steps_.empty() ? kArrived : 0; step != kArrived;) {
    size_t w = steps_[step].first;
    for (; number >= CountFrom(ways_[w].next); ++w) number -= CountFrom(ways_[w].next);
    path.ports[path.length++] = ways_[w].port;
    step = ways_[w].next;
  }
  return path;
}

double PathSet::Share(LinkIndex link) const {
  const auto at =
      std::lower_bound(links_.begin(), links_.end(), link,
                       [](const LinkShare& row, LinkIndex key) { return row.link < key; });
  return at == links_.end() || at->link != link ? 0 : at->share;
}

}  // namespace rocescope::topology
