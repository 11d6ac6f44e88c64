// SPDX-License-Identifier: BSD-3-Clause
// A switch that hashes addresses only sends all queue pairs between two NICs over one link. With a
// hash of the five-tuple, n queue pairs share one of k links by chance with probability k^(1-n).
// The product over all pairs of NICs is the probability of chance.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"
#include "topology/route.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// Some paths are wrong, and a flow that moves during the window has two.
constexpr double kWrongPaths = 0.02;

// The link that a switch chose for a flow, and the time of that choice.
struct Choice {
  NicIndex source = kNone;
  NicIndex destination = kNone;
  PortIndex port = kNone;
  Timestamp from;
  Timestamp until;
  bool moved = false;  // rerouted although no link went down or came up
  double ways = 0;     // number of equal-cost links
};

// A link that is down or not connected as declared.
struct Failure {
  topology::LinkIndex link = kNone;
  Timestamp from = Timestamp::min();
  Timestamp until = Timestamp::max();  // the latest time at which routing still avoids the link
  // Windows in which the link went down or came up.
  struct Change {
    Timestamp from;
    Timestamp until;
  };
  std::vector<Change> changes;
  Duration reroute{};  // the longest time between a change, or its reading, and the new routes
};

// Whether routing may move flows at this time because the link went down or came up again.
bool MayMoveFlows(const Failure& failure, Timestamp time) {
  return std::ranges::any_of(failure.changes, [&](const Failure::Change& change) {
    return time >= change.from - failure.reroute && time <= change.until + failure.reroute;
  });
}

// Joins overlapping failures; in order of time.
std::vector<Failure> SpansOf(std::vector<Failure> failures) {
  std::ranges::sort(failures, {}, &Failure::from);
  std::vector<Failure> spans;
  for (const Failure& failure : failures) {
    if (spans.empty() || failure.from > spans.back().until) {
      spans.push_back(failure);
    } else {
      spans.back().until = std::max(spans.back().until, failure.until);
    }
  }
  return spans;
}

std::vector<Failure> FailuresIn(const DiagnosisInput& input) {
  std::vector<Failure> failures;
  for (topology::LinkIndex link = 0; link < input.fabric().links().size(); ++link) {
    std::vector<bool> is_down(input.windows());
    std::vector<bool> falls_in(input.windows());
    bool is_at_ends = true;
    for (const PortIndex port : input.fabric().link(link).ends) {
      const Entity entity = input.EntityOf(port);
      is_at_ends = is_at_ends && (!input.HasMetric(entity, Metric::kLinkUp) ||
                                  input.IsReadAtWindowEnds(entity, Metric::kLinkUp));
      const Row up = input.Levels(input.EntityOf(port), Metric::kLinkUp);
      const Row falls = input.Growth(input.EntityOf(port), Metric::kLinkFlaps);
      for (size_t w = 0; w < input.windows(); ++w) {
        if (falls[w] > 0) falls_in[w] = true;
        if (falls[w] > 0 || (!up.empty() && up[w] == 0)) is_down[w] = true;
      }
    }
    const auto first = std::ranges::find(is_down, true);
    if (first == is_down.end()) continue;
    size_t last = input.windows() - 1;
    while (!is_down[last]) --last;
    // A change is between two readings, and the cache of a device may be older.
    const Duration reroute = (input.thresholds().reroute_windows + (is_at_ends ? 0 : 2)) *
                             input.parts().metrics.window();
    Failure failure = {.link = link,
                       .from = input.BeginOf(static_cast<size_t>(first - is_down.begin())),
                       .until = input.EndOf(last) + reroute,
                       .reroute = reroute};
    for (size_t w = 0; w < input.windows(); ++w) {
      const bool was_down = w > 0 && is_down[w - 1];
      if (!falls_in[w] && is_down[w] == was_down) continue;
      failure.changes.push_back({.from = input.BeginOf(w), .until = input.EndOf(w)});
    }
    failures.push_back(std::move(failure));
  }
  for (const CableFinding& cable : input.parts().cabling.findings) {
    for (const topology::LinkIndex link : cable.declared) failures.push_back({.link = link});
  }
  return failures;
}

// In which windows links carried traffic in any direction. Before maintenance, routing moves the
// traffic away from a link; the link is still up then, but is not a next hop any more.
class Activity {
 public:
  explicit Activity(const DiagnosisInput& input) : input_(input) {}

  // Whether the link carried traffic between the two times. The windows that contain these times
  // count only if there are no others.
  bool IsUsed(PortIndex port, Timestamp from, Timestamp until) {
    const MetricStore& metrics = input_.parts().metrics;
    const auto windows = static_cast<int64_t>(input_.windows());
    const auto first = static_cast<int64_t>(input_.PlaceOf(metrics.WindowOf(from)));
    const auto last = static_cast<int64_t>(input_.PlaceOf(metrics.WindowOf(until)));
    const bool has_inner = last - first >= 2;
    const std::vector<bool>& used = Of(port);
    if (used.empty()) return true;
    const int64_t begin = std::max<int64_t>(has_inner ? first + 1 : first, 0);
    const int64_t end = std::min(has_inner ? last : last + 1, windows);
    bool is_known = false;
    for (int64_t w = begin; w < end; ++w) {
      is_known = true;
      if (used[static_cast<size_t>(w)]) return true;
    }
    return !is_known;
  }

  // The windows in which the link is used. Empty if no end reports it.
  const std::vector<bool>& Of(PortIndex port) {
    const auto [at, is_new] = by_link_.try_emplace(input_.fabric().port(port).link);
    if (!is_new) return at->second;
    constexpr double kUsed = 1e-3;  // fraction of the line rate
    for (const PortIndex end : input_.fabric().link(at->first).ends) {
      const Entity entity = input_.EntityOf(end);
      for (const Metric metric : {Metric::kTxBytes, Metric::kRxBytes}) {
        if (!input_.HasMetric(entity, metric)) continue;
        const Row row = input_.Growth(entity, metric);
        at->second.resize(input_.windows());
        for (size_t w = 0; w < row.size(); ++w) {
          if (static_cast<double>(row[w]) > kUsed * input_.BytesPerWindow(end)) {
            at->second[w] = true;
          }
        }
      }
    }
    return at->second;
  }

  const DiagnosisInput& input() const { return input_; }

 private:
  const DiagnosisInput& input_;
  std::map<topology::LinkIndex, std::vector<bool>> by_link_;
};

// Switches without traffic while other switches of their tier carry some. They are drained and are
// not next hops.
class Drains {
 public:
  explicit Drains(Activity& activity) : input_(activity.input()) {
    const topology::Fabric& fabric = input_.fabric();
    std::map<topology::Tier, std::vector<NodeIndex>> tiers;
    std::map<NodeIndex, std::vector<bool>> active;  // by window; without unknown switches
    for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
      if (!fabric.node(node).IsSwitch()) continue;
      std::vector<bool> used;
      for (const topology::Port& at : fabric.PortsOf(node)) {
        if (at.link == kNone) continue;
        const std::vector<bool>& of_link =
            activity.Of(static_cast<PortIndex>(&at - fabric.ports().data()));
        used.resize(std::max(used.size(), of_link.size()));
        for (size_t w = 0; w < of_link.size(); ++w) {
          if (of_link[w]) used[w] = true;
        }
      }
      if (used.empty()) continue;
      tiers[fabric.node(node).tier].push_back(node);
      active[node] = std::move(used);
    }
    for (const auto& [tier, nodes] : tiers) {
      for (size_t w = 0; w < input_.windows(); ++w) {
        const auto idle = static_cast<size_t>(
            std::ranges::count_if(nodes, [&](NodeIndex node) { return !active[node][w]; }));
        if (idle == 0 || 2 * idle > nodes.size()) continue;
        for (const NodeIndex node : nodes) {
          if (!active[node][w]) Mark(node, w);
        }
      }
    }
  }

  bool IsDrained(NodeIndex node, Timestamp time) const {
    const auto at = drained_.find(node);
    const size_t window = input_.PlaceOf(input_.parts().metrics.WindowOf(time));
    return at != drained_.end() && window < at->second.size() && at->second[window];
  }

  // The parts of the interval in which the same switches are drained.
  std::vector<std::pair<Timestamp, Timestamp>> PartsOf(Timestamp from, Timestamp until) const {
    std::vector<std::pair<Timestamp, Timestamp>> parts;
    for (const Timestamp change : Changes()) {
      if (change <= from || change > until) continue;
      parts.emplace_back(from, change - Duration(1));
      from = change;
    }
    parts.emplace_back(from, until);
    return parts;
  }

  bool IsNearChange(Timestamp time) const {
    const Duration near = kNear * input_.parts().metrics.window();
    return std::ranges::any_of(Changes(), [&](Timestamp change) {
      return time >= change - near && time <= change + near;
    });
  }

 private:
  // Counters may show a drain up to this many windows late, and its end up to this many early.
  static constexpr int64_t kNear = 2;

  void Mark(NodeIndex node, size_t window) {
    std::vector<bool>& drained = drained_[node];
    drained.resize(input_.windows());
    const size_t begin = window - std::min<size_t>(window, kNear);
    const size_t end = std::min(window + kNear + 1, drained.size());
    for (size_t w = begin; w < end; ++w) drained[w] = true;
    changes_.clear();
  }
  // Ascending.
  const std::vector<Timestamp>& Changes() const {
    if (!changes_.empty() || drained_.empty()) return changes_;
    for (const auto& [node, drained] : drained_) {
      for (size_t w = 0; w < drained.size(); ++w) {
        const bool before = w > 0 && drained[w - 1];
        if (drained[w] != before) changes_.push_back(input_.BeginOf(w));
      }
    }
    std::ranges::sort(changes_);
    const auto repeated = std::ranges::unique(changes_);
    changes_.erase(repeated.begin(), repeated.end());
    return changes_;
  }

  const DiagnosisInput& input_;
  std::map<NodeIndex, std::vector<bool>> drained_;  // by window
  mutable std::vector<Timestamp> changes_;
};

// For each switch: its choices for flows with several next hops. A failed link is not a next hop.
std::map<NodeIndex, std::vector<Choice>> ChoicesOf(const DiagnosisInput& input) {
  topology::Routes whole(input.fabric());
  topology::Routes left(input.fabric());
  const std::vector<Failure> failures = FailuresIn(input);
  std::vector<bool> failed(input.fabric().links().size());
  for (const Failure& failure : failures) failed[failure.link] = true;
  left.SetFailed(std::move(failed));
  const std::vector<Failure> spans = SpansOf(failures);
  Activity activity(input);
  const Drains drains(activity);
  // A flow that falls silent has not changed its path. If it were left out while it is blocked, the
  // flows that are not blocked would seem to be all flows.
  const Duration silence = input.thresholds().effect_windows * input.parts().metrics.window();
  std::map<NodeIndex, std::vector<Choice>> choices;
  for (const FlowPath& flow : input.parts().paths) {
    if (flow.source == kNone || flow.destination == kNone) continue;
    for (const PathInterval& stretch : flow.intervals) {
      const bool is_last = &stretch == &flow.intervals.back();
      if (stretch.state != PathState::kExact && stretch.state != PathState::kLikely) continue;
      const bool moved = stretch.began == PathChange::kRerouted &&
                         stretch.reason == PathReason::kUnknown &&
                         !drains.IsNearChange(stretch.from) &&
                         std::ranges::none_of(failures, [&](const Failure& failure) {
                           return MayMoveFlows(failure, stretch.from);
                         });
      for (const auto& [from, until] : drains.PartsOf(stretch.from, stretch.until)) {
        const auto span = std::ranges::lower_bound(spans, from, {}, &Failure::until);
        topology::Routes& routes = span != spans.end() && span->from <= until ? left : whole;
        const bool is_end = is_last && until == stretch.until;
        const auto hops = stretch.path.hops();
        for (size_t i = 1; i + 1 < hops.size(); ++i) {
          const NodeIndex node = input.fabric().port(hops[i]).node;
          // A flow that had no choice for a time is no evidence, but belongs to its pair of NICs:
          // without it, the other flows would seem to be all flows of the pair.
          if (whole.NextHops(node, flow.destination).size() < 2) continue;
          std::vector<PortIndex> next;
          std::ranges::copy_if(routes.NextHops(node, flow.destination), std::back_inserter(next),
                               [&](PortIndex port) {
                                 return !drains.IsDrained(input.fabric().PeerNode(port), from);
                               });
          const auto is_used = [&](PortIndex port) { return activity.IsUsed(port, from, until); };
          // Counters may not cover the flow's time.
          const auto ways = is_used(hops[i]) ? std::ranges::count_if(next, is_used)
                                             : static_cast<ptrdiff_t>(next.size());
          choices[node].push_back({.source = flow.source,
                                   .destination = flow.destination,
                                   .port = hops[i],
                                   .from = from,
                                   .until = is_end ? until + silence : until,
                                   .moved = moved,
                                   .ways = static_cast<double>(std::max<ptrdiff_t>(ways, 1))});
        }
      }
    }
  }
  return choices;
}

struct Judgement {
  double surprise = 0;  // logarithm of how unlikely it is by chance
  size_t pairs = 0;     // of NICs, with several flows
  size_t flows = 0;
  size_t apart = 0;  // pairs whose flows take more than one link
  size_t moved = 0;  // flows that moved there although no link failed or came up
};

// The choices of a switch in the current window, updated from window to window. All sums are
// integers, so that they do not drift.
class ChoicesNow {
 public:
  void Add(const Choice& choice) { Change(choice, 1); }
  void Remove(const Choice& choice) { Change(choice, -1); }

  Judgement Judge() const {
    Judgement judgement{.pairs = static_cast<size_t>(pairs_),
                        .flows = static_cast<size_t>(flows_),
                        .apart = static_cast<size_t>(apart_),
                        .moved = static_cast<size_t>(moved_)};
    judgement.surprise = static_cast<double>(elsewhere_) * std::log(kWrongPaths);
    for (const auto& [ways, together] : together_) {
      judgement.surprise += static_cast<double>(together) * std::log(ways * (1 - kWrongPaths));
    }
    // Flows that move to the same link without a link failure also indicate a different hash.
    constexpr double kMoved = 3;  // one in twenty such moves at one switch, each
    constexpr size_t kMaxMoved = 3;
    if (judgement.apart == 0) {
      judgement.surprise += kMoved * static_cast<double>(std::min(judgement.moved, kMaxMoved));
    }
    return judgement;
  }

 private:
  struct Group {
    std::map<PortIndex, int64_t> by_port;
    // The key is the number of next hops, which is smaller while links are down.
    std::map<double, int64_t> by_ways;
    int64_t moved = 0;
  };

  void Change(const Choice& choice, int64_t by) {
    const auto at = groups_.try_emplace({choice.source, choice.destination}).first;
    Group& group = at->second;
    Count(group, -1);
    Change(group.by_port, choice.port, by);
    Change(group.by_ways, choice.ways, by);
    group.moved += choice.moved ? by : 0;
    Count(group, 1);
    if (group.by_port.empty()) groups_.erase(at);
  }

  template <typename Key>
  static void Change(std::map<Key, int64_t>& counts, const Key& key, int64_t by) {
    int64_t& count = counts[key];
    count += by;
    if (count == 0) counts.erase(key);
  }

  void Count(const Group& group, int64_t by) {
    int64_t all = 0;
    int64_t most = 0;
    for (const auto& [port, count] : group.by_port) {
      all += count;
      most = std::max(most, count);
    }
    if (all < 2) return;
    pairs_ += by;
    flows_ += by * all;
    if (most < all) apart_ += by;
    if (most == all) moved_ += by * group.moved;
    together_[group.by_ways.begin()->first] += by * (most - 1);
    elsewhere_ += by * (all - most);
  }

  std::map<std::pair<NicIndex, NicIndex>, Group> groups_;
  int64_t pairs_ = 0;
  int64_t flows_ = 0;
  int64_t apart_ = 0;
  int64_t moved_ = 0;
  std::map<double, int64_t> together_;  // flows that share a link with one more, by how many ways
  int64_t elsewhere_ = 0;
};

// Indices of choices by the window in which they start, and by the window after their end.
struct Turns {
  std::vector<std::vector<size_t>> come;
  std::vector<std::vector<size_t>> gone;
};

Turns TurnsOf(const DiagnosisInput& input, const std::vector<Choice>& choices) {
  Turns turns{.come = std::vector<std::vector<size_t>>(input.windows()),
              .gone = std::vector<std::vector<size_t>>(input.windows())};
  const auto windows = static_cast<int64_t>(input.windows());
  const auto place_of = [&](Timestamp time) {
    return static_cast<int64_t>(input.PlaceOf(input.parts().metrics.WindowOf(time)));
  };
  for (size_t i = 0; i < choices.size(); ++i) {
    const int64_t first = std::max<int64_t>(place_of(choices[i].from), 0);
    const int64_t last = place_of(choices[i].until);
    if (first >= windows || last < first) continue;
    turns.come[static_cast<size_t>(first)].push_back(i);
    if (last + 1 < windows) turns.gone[static_cast<size_t>(last + 1)].push_back(i);
  }
  return turns;
}

}  // namespace

void DetectHashing(const DiagnosisInput& input, Findings& found) {
  if (input.is_spraying()) return;
  const double enough = input.thresholds().polarisation_evidence;
  for (const auto& [node, choices] : ChoicesOf(input)) {
    size_t first = input.windows();
    size_t last = 0;
    Judgement best;
    const Turns turns = TurnsOf(input, choices);
    ChoicesNow now;
    for (size_t w = 0; w < input.windows(); ++w) {
      for (const size_t i : turns.gone[w]) now.Remove(choices[i]);
      for (const size_t i : turns.come[w]) now.Add(choices[i]);
      const Judgement judgement = now.Judge();
      if (judgement.surprise < enough) continue;
      first = std::min(first, w);
      last = w;
      if (judgement.surprise > best.surprise) best = judgement;
    }
    if (first == input.windows()) continue;
    Finding finding = {.kind = FaultKind::kPolarisation,
                       .place = {.kind = PlaceKind::kSwitch, .index = node},
                       .confidence = 0.95,
                       .from = input.BeginOf(first),
                       .detected_at = input.EndOf(first)};
    finding.until = input.Until(last);
    finding.evidence.push_back(fmt::format(
        "of {} with {} in total, {} all of their flows on one link",
        best.pairs == 1 ? "1 pair of NICs" : WithThousands(best.pairs) + " pairs of NICs",
        Counted(best.flows, "flow"),
        best.pairs - best.apart == 1 ? "1 has" : WithThousands(best.pairs - best.apart) + " have"));
    found.push_back(std::move(finding));
  }
}

TimeToDetection TimeToDetectHashing(FaultKind /*kind*/, const Thresholds& thresholds) {
  constexpr double kLinks = 2;  // the fewest equal-cost links
  const double flows =
      std::ceil(thresholds.polarisation_evidence / std::log(kLinks * (1 - kWrongPaths)));
  return {.signs = fmt::format("{:.0f} flows that share one of {:.0f} links with another flow of "
                               "their NICs; fewer with more links",
                               flows, kLinks)};
}

}  // namespace rocescope
