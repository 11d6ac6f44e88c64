// SPDX-License-Identifier: BSD-3-Clause
// A switch that hashes addresses alone sends all queue pairs of two NICs by one link. With the
// usual hash, n of them share one of k links by chance with probability k^(1-n): over all pairs of
// NICs that becomes as unlikely as one pleases.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
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

// A choice that a switch made for a flow, and for how long.
struct Choice {
  NicIndex source = kNone;
  NicIndex destination = kNone;
  PortIndex port = kNone;
  Timestamp from;
  Timestamp until;
  bool moved = false;  // the flow came here by a change that no link explains
  double ways = 0;     // among so many
};

// A link that carries nothing, or not what the topology says.
struct Failure {
  topology::LinkIndex link = kNone;
  Timestamp from = Timestamp::min();
  Timestamp until = Timestamp::max();
};

// In order of their beginnings, those that overlap as one.
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

std::vector<Failure> FailuresIn(const Scene& scene) {
  // Routes come back some time after the link does.
  constexpr int kLater = 2;
  std::vector<Failure> failures;
  for (topology::LinkIndex link = 0; link < scene.fabric().links().size(); ++link) {
    size_t first = scene.windows();
    size_t last = 0;
    for (const PortIndex port : scene.fabric().link(link).ends) {
      const Row up = scene.Levels(scene.EntityOf(port), Metric::kLinkUp);
      const Row falls = scene.Growth(scene.EntityOf(port), Metric::kLinkFlaps);
      for (size_t w = 0; w < scene.windows(); ++w) {
        if (falls[w] == 0 && (up.empty() || up[w] != 0)) continue;
        first = std::min(first, w);
        last = std::max(last, w);
      }
    }
    if (first == scene.windows()) continue;
    failures.push_back({.link = link,
                        .from = scene.BeginOf(first),
                        .until = scene.EndOf(last) + kLater * scene.parts().metrics.window()});
  }
  for (const CableFinding& cable : scene.parts().cabling.findings) {
    for (const topology::LinkIndex link : cable.declared) failures.push_back({.link = link});
  }
  return failures;
}

// By switch: of flows that had a choice. A link that failed meanwhile was none.
std::map<NodeIndex, std::vector<Choice>> ChoicesOf(const Scene& scene) {
  topology::Routes whole(scene.fabric());
  topology::Routes left(scene.fabric());
  const std::vector<Failure> failures = FailuresIn(scene);
  std::vector<bool> failed(scene.fabric().links().size());
  for (const Failure& failure : failures) failed[failure.link] = true;
  left.SetFailed(std::move(failed));
  const std::vector<Failure> spans = SpansOf(failures);
  std::map<NodeIndex, std::vector<Choice>> choices;
  for (const FlowPath& flow : scene.parts().paths) {
    if (flow.source == kNone || flow.destination == kNone) continue;
    for (const PathInterval& stretch : flow.intervals) {
      if (stretch.state != PathState::kExact && stretch.state != PathState::kLikely) continue;
      const bool moved =
          stretch.began == PathChange::kRerouted && stretch.reason == PathReason::kUnknown;
      const auto span = std::ranges::lower_bound(spans, stretch.from, {}, &Failure::until);
      topology::Routes& routes = span != spans.end() && span->from <= stretch.until ? left : whole;
      const auto hops = stretch.path.hops();
      for (size_t i = 1; i + 1 < hops.size(); ++i) {
        const NodeIndex node = scene.fabric().port(hops[i]).node;
        const size_t ways = routes.NextHops(node, flow.destination).size();
        if (ways < 2) continue;
        choices[node].push_back({.source = flow.source,
                                 .destination = flow.destination,
                                 .port = hops[i],
                                 .from = stretch.from,
                                 .until = stretch.until,
                                 .moved = moved,
                                 .ways = static_cast<double>(ways)});
      }
    }
  }
  return choices;
}

struct Verdict {
  double surprise = 0;  // logarithm of how unlikely it is by chance
  size_t pairs = 0;     // of NICs, with several flows
  size_t flows = 0;
  size_t apart = 0;  // of these pairs, not all by one link
  size_t moved = 0;  // flows that came there though no link went or came
};

// The choices of one switch in a window after the other: what came and what went makes the next
// window's of the one before. All sums are whole numbers, so that none of it drifts.
class ChoicesNow {
 public:
  void Add(const Choice& choice) { Change(choice, 1); }
  void Remove(const Choice& choice) { Change(choice, -1); }

  Verdict Judge() const {
    // Paths are wrong now and then, and a flow that moves in the window is in two places.
    constexpr double kWrong = 0.02;
    Verdict verdict{.pairs = static_cast<size_t>(pairs_),
                    .flows = static_cast<size_t>(flows_),
                    .apart = static_cast<size_t>(apart_),
                    .moved = static_cast<size_t>(moved_)};
    verdict.surprise = static_cast<double>(elsewhere_) * std::log(kWrong);
    for (const auto& [ways, together] : together_) {
      verdict.surprise += static_cast<double>(together) * std::log(ways * (1 - kWrong));
    }
    // Flows that move together without a link's doing are a sign of another hash by themselves.
    constexpr double kMoved = 3;  // one in twenty such moves at one switch, each
    constexpr size_t kMaxMoved = 3;
    if (verdict.apart == 0) {
      verdict.surprise += kMoved * static_cast<double>(std::min(verdict.moved, kMaxMoved));
    }
    return verdict;
  }

 private:
  struct Group {
    std::map<PortIndex, int64_t> by_port;
    // By how many ways each of them had: fewer while links had failed.
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

// Numbers of choices by the window from which on they are there, and by that from which on they
// are not any more.
struct Turns {
  std::vector<std::vector<size_t>> come;
  std::vector<std::vector<size_t>> gone;
};

Turns TurnsOf(const Scene& scene, const std::vector<Choice>& choices) {
  Turns turns{.come = std::vector<std::vector<size_t>>(scene.windows()),
              .gone = std::vector<std::vector<size_t>>(scene.windows())};
  const auto windows = static_cast<int64_t>(scene.windows());
  const auto place_of = [&](Timestamp time) {
    return static_cast<int64_t>(scene.PlaceOf(scene.parts().metrics.WindowOf(time)));
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

void DetectHashing(const Scene& scene, Findings& found) {
  // One switch in a thousand fabrics of a thousand switches, by chance.
  constexpr double kEnough = 13.8;
  for (const auto& [node, choices] : ChoicesOf(scene)) {
    size_t first = scene.windows();
    size_t last = 0;
    Verdict best;
    const Turns turns = TurnsOf(scene, choices);
    ChoicesNow now;
    for (size_t w = 0; w < scene.windows(); ++w) {
      for (const size_t i : turns.gone[w]) now.Remove(choices[i]);
      for (const size_t i : turns.come[w]) now.Add(choices[i]);
      const Verdict verdict = now.Judge();
      if (verdict.surprise < kEnough) continue;
      first = std::min(first, w);
      last = w;
      if (verdict.surprise > best.surprise) best = verdict;
    }
    if (first == scene.windows()) continue;
    Finding finding = {.kind = FindingKind::kPolarisation,
                       .place = {.kind = PlaceKind::kSwitch, .index = node},
                       .confidence = 0.95,
                       .from = scene.BeginOf(first),
                       .verdict = scene.EndOf(first)};
    finding.until = scene.Until(last);
    finding.evidence.push_back(fmt::format(
        "of {} with {} in all, {} all of theirs on one link",
        best.pairs == 1 ? "1 pair of NICs" : WithThousands(best.pairs) + " pairs of NICs",
        Counted(best.flows, "flow"),
        best.pairs - best.apart == 1 ? "1 has" : WithThousands(best.pairs - best.apart) + " have"));
    found.push_back(std::move(finding));
  }
}

}  // namespace rocescope
