// SPDX-License-Identifier: BSD-3-Clause
// Two cables whose far ends were exchanged: what an end of the one sent an end of the other
// received, frame by frame, and neither link's own sums agree.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/link_balance.h"
#include "analytics/diagnosis/sum_windows.h"

namespace rocescope {
namespace {

using topology::LinkIndex;
using topology::PortIndex;

int64_t FullOf(const Balance& balance) {
  return balance.full.empty() ? 0 : *std::ranges::max_element(balance.full);
}

int64_t OffBy(const Balance& balance) {
  int64_t most = 0;
  for (const int64_t frames : balance.missing) {
    if (frames != Balance::kUnread) most = std::max(most, std::abs(frames));
  }
  return most;
}

// More than any number that can be under way, and windows say since when.
struct Unbalanced {
  LinkIndex link = topology::kNone;
  size_t first = 0;
  size_t verdict = 0;
};

constexpr int64_t kManyTimes = 10;  // as many as can be under way

bool IsFarOff(const Balance& balance) {
  return !balance.missing.empty() && OffBy(balance) >= kManyTimes * FullOf(balance);
}

bool IsAbove(const Balance& balance, int64_t frames) {
  return std::ranges::any_of(balance.missing, [&](int64_t missing) {
    return missing != Balance::kUnread && missing > frames;
  });
}

// Ways that are far off as most of their kind are: of how devices count, they say.
std::vector<bool> FarOffAsMost(const Scene& scene, const Balances& ways) {
  const size_t links = scene.fabric().links().size();
  std::vector<bool> missing(2 * links);
  std::vector<bool> too_many(2 * links);
  for (size_t way = 0; way < missing.size(); ++way) {
    const Balance& balance = ways.At(way);
    if (!IsFarOff(balance)) continue;
    (IsAbove(balance, kManyTimes * FullOf(balance) - 1) ? missing : too_many)[way] = true;
  }
  const std::vector<bool> most_miss = SharedByMost(scene, ways, missing);
  std::vector<bool> as_most = SharedByMost(scene, ways, too_many);
  for (size_t way = 0; way < as_most.size(); ++way) {
    if (most_miss[way]) as_most[way] = true;
  }
  return as_most;
}

std::optional<Unbalanced> UnbalancedLink(const Balances& ways, const std::vector<bool>& as_most,
                                         LinkIndex index) {
  std::optional<Unbalanced> found;
  for (size_t end = 0; end < 2; ++end) {
    const Balance& balance = ways.At(PathOf(index, end));
    if (!IsFarOff(balance) || as_most[PathOf(index, end)]) continue;
    const int64_t full = FullOf(balance);
    const auto beyond = [&](int64_t frames) {
      const auto at = std::ranges::find_if(balance.missing, [&](int64_t missing) {
        return missing != Balance::kUnread && std::abs(missing) > frames;
      });
      return static_cast<size_t>(at - balance.missing.begin());
    };
    const Unbalanced way = {
        .link = index, .first = beyond(full), .verdict = beyond(kManyTimes * full - 1)};
    if (!found || way.verdict < found->verdict) found = way;
  }
  return found;
}

// Hardly anything missing; from one that sends nothing, nothing comes.
bool Receives(const Scene& scene, PortIndex sender, PortIndex receiver) {
  const Entity from = scene.EntityOf(sender);
  const Entity to = scene.EntityOf(receiver);
  if (!scene.AreSimultaneous(from, Metric::kTxPackets, to, Metric::kRxPackets)) return false;
  const Balance way = LinkBalance(scene, sender, receiver);
  if (!way.missing.empty()) return OffBy(way) <= FullOf(way);
  const auto is_silent = [&](const Entity& entity, Metric metric) {
    return std::ranges::all_of(scene.Growth(entity, metric),
                               [](auto frames) { return frames == 0; });
  };
  return is_silent(from, Metric::kTxPackets) && is_silent(to, Metric::kRxPackets);
}

bool AreConnected(const Scene& scene, PortIndex a, PortIndex b) {
  return Receives(scene, a, b) && Receives(scene, b, a);
}

// Which of b's ends a's first is connected with, if one of the two exchanges explains all.
std::optional<size_t> CrossedWith(const Scene& scene, const topology::Link& a,
                                  const topology::Link& b) {
  for (size_t end = 0; end < 2; ++end) {
    if (AreConnected(scene, a.ends[0], b.ends[end]) &&
        AreConnected(scene, a.ends[1], b.ends[1 - end])) {
      return end;
    }
  }
  return std::nullopt;
}

// What a port sent and received in all, so that not every link has to be held against each other.
struct Totals {
  int64_t sent = 0;
  int64_t received = 0;
  int64_t under_way = 0;  // of what it sends, at most
  bool sure = false;      // it is known of all windows
};

Totals TotalsOf(const Scene& scene, PortIndex port) {
  const Entity entity = scene.EntityOf(port);
  const auto sum = [&](Metric metric) {
    uint64_t all = 0;
    for (const uint64_t one : scene.Growth(entity, metric)) all += one;
    return static_cast<int64_t>(all);
  };
  Totals totals{.sent = sum(Metric::kTxPackets),
                .received = sum(Metric::kRxPackets) + sum(Metric::kFcsErrors)};
  const int64_t bytes = sum(Metric::kTxBytes);
  if (totals.sent > 0 && bytes > 0) {
    totals.under_way =
        MostUnderWay(scene, port, static_cast<double>(totals.sent), static_cast<double>(bytes));
  }
  const std::array<Counter, 2> counters = {Counter(entity, Metric::kTxPackets),
                                           Counter(entity, Metric::kRxPackets)};
  const std::vector<bool> known = SumWindowsOf(scene, counters).known;
  totals.sure = std::ranges::all_of(known, [](bool is) { return is; });
  for (const auto& [of, metric] : counters) {
    const MetricSeries* series = scene.parts().metrics.Find(of, metric);
    totals.sure &=
        series != nullptr && series->first_reading() <= scene.BeginOf(0) + scene.ReadingSlack();
  }
  return totals;
}

bool MayReceive(const Totals& sender, const Totals& receiver) {
  return !sender.sure || !receiver.sure ||
         std::abs(sender.sent - receiver.received) <= sender.under_way;
}

// Links by what their ends received.
class ByTotals {
 public:
  ByTotals(const Scene& scene, const std::vector<Unbalanced>& links) {
    for (const Unbalanced& one : links) {
      const size_t number = ends_.size();
      const auto& ports = scene.fabric().link(one.link).ends;
      ends_.push_back({TotalsOf(scene, ports[0]), TotalsOf(scene, ports[1])});
      if (!ends_[number][0].sure || !ends_[number][1].sure) {
        unsure_.push_back(number);
        continue;
      }
      for (const Totals& end : ends_[number]) received_.emplace_back(end.received, number);
    }
    std::ranges::sort(received_);
  }

  // Later ones that may be the other of two that are crossed; ascending.
  std::vector<size_t> PartnersOf(size_t number) const {
    std::vector<size_t> partners;
    const std::array<Totals, 2>& own = ends_[number];
    const auto add = [&](size_t other) {
      if (other > number && MayBeCrossed(own, ends_[other])) partners.push_back(other);
    };
    if (own[0].sure) {
      const auto from =
          std::ranges::lower_bound(received_, std::pair(own[0].sent - own[0].under_way, size_t{0}));
      for (auto at = from; at != received_.end() && at->first <= own[0].sent + own[0].under_way;
           ++at) {
        add(at->second);
      }
      for (const size_t other : unsure_) add(other);
    } else {
      for (size_t other = number + 1; other < ends_.size(); ++other) add(other);
    }
    std::ranges::sort(partners);
    const auto rest = std::ranges::unique(partners);
    partners.erase(rest.begin(), rest.end());
    return partners;
  }

 private:
  static bool MayBeConnected(const Totals& a, const Totals& b) {
    return MayReceive(a, b) && MayReceive(b, a);
  }
  static bool MayBeCrossed(const std::array<Totals, 2>& a, const std::array<Totals, 2>& b) {
    return (MayBeConnected(a[0], b[0]) && MayBeConnected(a[1], b[1])) ||
           (MayBeConnected(a[0], b[1]) && MayBeConnected(a[1], b[0]));
  }

  std::vector<std::array<Totals, 2>> ends_;
  std::vector<size_t> unsure_;
  std::vector<std::pair<int64_t, size_t>> received_;  // by whom, ascending
};

bool IsKnown(const Scene& scene, LinkIndex link) {
  return std::ranges::any_of(scene.parts().cabling.findings, [&](const CableFinding& cable) {
    return cable.kind == CableFindingKind::kSwapped &&
           std::ranges::find(cable.declared, link) != cable.declared.end();
  });
}

}  // namespace

void DetectCrossedLinks(const Scene& scene, Findings& found) {
  const topology::Fabric& fabric = scene.fabric();
  const Balances& ways = scene.link_balances();
  const std::vector<bool> as_most = FarOffAsMost(scene, ways);
  std::vector<Unbalanced> unbalanced;
  for (LinkIndex index = 0; index < fabric.links().size(); ++index) {
    if (IsKnown(scene, index)) continue;
    if (const auto link = UnbalancedLink(ways, as_most, index)) unbalanced.push_back(*link);
  }
  const ByTotals totals(scene, unbalanced);
  for (size_t i = 0; i < unbalanced.size(); ++i) {
    for (const size_t j : totals.PartnersOf(i)) {
      const topology::Link& a = fabric.link(unbalanced[i].link);
      const topology::Link& b = fabric.link(unbalanced[j].link);
      const auto end = CrossedWith(scene, a, b);
      if (!end) continue;
      Finding finding = {
          .kind = FindingKind::kSwappedCables,
          .place = {.kind = PlaceKind::kLink, .index = unbalanced[i].link},
          .confidence = 0.97,
          .from = scene.BeginOf(std::min(unbalanced[i].first, unbalanced[j].first)),
          .verdict = scene.EndOf(std::max(unbalanced[i].verdict, unbalanced[j].verdict))};
      for (size_t of_a = 0; of_a < 2; ++of_a) {
        finding.evidence.push_back(fmt::format(
            "{} is connected with {}: what either sends the other receives",
            fabric.NameOf(a.ends[of_a]), fabric.NameOf(b.ends[of_a == 0 ? *end : 1 - *end])));
      }
      finding.symptoms.push_back({.kind = FindingKind::kSwappedCables,
                                  .place = {.kind = PlaceKind::kLink, .index = unbalanced[j].link},
                                  .probability = finding.confidence});
      found.push_back(std::move(finding));
    }
  }
}

}  // namespace rocescope
