// SPDX-License-Identifier: BSD-3-Clause
// Finds two cables whose far ends were exchanged: each end of one link received what an end of the
// other link sent, and the counters of neither link agree by themselves.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "analytics/diagnosis/cables.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/link_balance.h"
#include "analytics/diagnosis/sum_windows.h"

namespace rocescope {
namespace {

using topology::LinkIndex;
using topology::PortIndex;

int64_t OffBy(const Balance& balance) {
  int64_t most = 0;
  for (const int64_t frames : balance.missing) {
    if (frames != Balance::kUnread) most = std::max(most, std::abs(frames));
  }
  return most;
}

// A link with a mismatch larger than any number of frames in flight.
struct Unbalanced {
  LinkIndex link = topology::kNone;
  size_t first = 0;
  size_t detected_at = 0;
};

bool IsFarOff(const DiagnosisInput& input, const Balance& balance) {
  return !balance.missing.empty() && OffBy(balance) >= FarOff(input, balance);
}

bool IsAbove(const Balance& balance, int64_t frames) {
  return std::ranges::any_of(balance.missing, [&](int64_t missing) {
    return missing != Balance::kUnread && missing > frames;
  });
}

// Directions with a large mismatch that most directions between the same tiers share, because
// devices count differently.
std::vector<bool> FarOffAsMost(const DiagnosisInput& input, const Balances& ways) {
  const size_t links = input.fabric().links().size();
  std::vector<bool> missing(2 * links);
  std::vector<bool> too_many(2 * links);
  for (size_t way = 0; way < missing.size(); ++way) {
    const Balance& balance = ways.At(way);
    if (!IsFarOff(input, balance)) continue;
    (IsAbove(balance, FarOff(input, balance) - 1) ? missing : too_many)[way] = true;
  }
  const std::vector<bool> most_miss = SharedByMost(input, missing);
  std::vector<bool> as_most = SharedByMost(input, too_many);
  for (size_t way = 0; way < as_most.size(); ++way) {
    if (most_miss[way]) as_most[way] = true;
  }
  return as_most;
}

std::optional<Unbalanced> UnbalancedLink(const DiagnosisInput& input, const Balances& ways,
                                         const std::vector<bool>& as_most, LinkIndex index) {
  std::optional<Unbalanced> found;
  for (size_t end = 0; end < 2; ++end) {
    const Balance& balance = ways.At(DirectionOf(index, end));
    if (!IsFarOff(input, balance) || as_most[DirectionOf(index, end)]) continue;
    const int64_t full = FullOf(balance);
    const auto beyond = [&](int64_t frames) {
      const auto at = std::ranges::find_if(balance.missing, [&](int64_t missing) {
        return missing != Balance::kUnread && std::abs(missing) > frames;
      });
      return static_cast<size_t>(at - balance.missing.begin());
    };
    const Unbalanced way = {
        .link = index, .first = beyond(full), .detected_at = beyond(FarOff(input, balance) - 1)};
    if (!found || way.detected_at < found->detected_at) found = way;
  }
  return found;
}

// Whether `receiver` receives what `sender` sends. A silent port matches a port that receives
// nothing.
bool Receives(const DiagnosisInput& input, PortIndex sender, PortIndex receiver) {
  const Entity from = input.EntityOf(sender);
  const Entity to = input.EntityOf(receiver);
  if (!input.AreSimultaneous(from, Metric::kTxPackets, to, Metric::kRxPackets)) return false;
  const Balance way = LinkBalance(input, sender, receiver);
  if (!way.missing.empty()) return OffBy(way) <= FullOf(way);
  const auto is_silent = [&](const Entity& entity, Metric metric) {
    return std::ranges::all_of(input.Growth(entity, metric),
                               [](auto frames) { return frames == 0; });
  };
  return is_silent(from, Metric::kTxPackets) && is_silent(to, Metric::kRxPackets);
}

bool AreConnected(const DiagnosisInput& input, PortIndex a, PortIndex b) {
  return Receives(input, a, b) && Receives(input, b, a);
}

// The end of b that the first end of a is connected to, if an exchange of cables explains all
// counters.
std::optional<size_t> CrossedWith(const DiagnosisInput& input, const topology::Link& a,
                                  const topology::Link& b) {
  for (size_t end = 0; end < 2; ++end) {
    if (AreConnected(input, a.ends[0], b.ends[end]) &&
        AreConnected(input, a.ends[1], b.ends[1 - end])) {
      return end;
    }
  }
  return std::nullopt;
}

// Sums over all windows. They avoid a comparison of each link with each other link.
struct Totals {
  int64_t sent = 0;
  int64_t received = 0;
  int64_t in_flight = 0;  // maximum of the frames that it sends
  bool sure = false;      // it is known of all windows
};

Totals TotalsOf(const DiagnosisInput& input, PortIndex port) {
  const Entity entity = input.EntityOf(port);
  const auto sum = [&](Metric metric) {
    uint64_t all = 0;
    for (const uint64_t one : input.Growth(entity, metric)) all += one;
    return static_cast<int64_t>(all);
  };
  Totals totals{.sent = sum(Metric::kTxPackets),
                .received = sum(Metric::kRxPackets) + sum(input.ErrorMetricOf(entity))};
  const int64_t bytes = sum(Metric::kTxBytes);
  if (totals.sent > 0 && bytes > 0) {
    totals.in_flight =
        MaxInFlight(input, port, static_cast<double>(totals.sent), static_cast<double>(bytes));
  }
  const std::array<Counter, 2> counters = {Counter(entity, Metric::kTxPackets),
                                           Counter(entity, Metric::kRxPackets)};
  const std::vector<bool> known = SumWindowsOf(input, counters).known;
  totals.sure = std::ranges::all_of(known, [](bool is) { return is; });
  for (const auto& [of, metric] : counters) {
    const MetricSeries* series = input.parts().metrics.Find(of, metric);
    totals.sure &=
        series != nullptr && series->first_reading() <= input.BeginOf(0) + input.ReadingSlack();
  }
  return totals;
}

bool MayReceive(const Totals& sender, const Totals& receiver) {
  return !sender.sure || !receiver.sure ||
         std::abs(sender.sent - receiver.received) <= sender.in_flight;
}

// Links by the frames that their ends received.
class ByTotals {
 public:
  ByTotals(const DiagnosisInput& input, const std::vector<Unbalanced>& links) {
    for (const Unbalanced& one : links) {
      const size_t number = ends_.size();
      const auto& ports = input.fabric().link(one.link).ends;
      ends_.push_back({TotalsOf(input, ports[0]), TotalsOf(input, ports[1])});
      if (!ends_[number][0].sure || !ends_[number][1].sure) {
        unsure_.push_back(number);
        continue;
      }
      for (const Totals& end : ends_[number]) received_.emplace_back(end.received, number);
    }
    std::ranges::sort(received_);
  }

  // Later links that may be crossed with this one, ascending.
  std::vector<size_t> PartnersOf(size_t number) const {
    std::vector<size_t> partners;
    const std::array<Totals, 2>& own = ends_[number];
    const auto add = [&](size_t other) {
      if (other > number && MayBeCrossed(own, ends_[other])) partners.push_back(other);
    };
    if (own[0].sure) {
      const auto from =
          std::ranges::lower_bound(received_, std::pair(own[0].sent - own[0].in_flight, size_t{0}));
      for (auto at = from; at != received_.end() && at->first <= own[0].sent + own[0].in_flight;
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
  std::vector<std::pair<int64_t, size_t>> received_;  // frames, index of the receiver; ascending
};

// Whether the detector `cables` reports the link.
bool IsKnown(const DiagnosisInput& input, LinkIndex link) {
  const auto concerns_link = [&](const CableFinding& cable) {
    return IsSwap(cable) && std::ranges::find(cable.declared, link) != cable.declared.end();
  };
  const CablingAnswer& cabling = input.parts().cabling;
  return std::ranges::any_of(cabling.findings, concerns_link) ||
         std::ranges::any_of(cabling.ended, [&](const CableFinding& cable) {
           return cable.until >= input.BeginOf(0) && concerns_link(cable);
         });
}

}  // namespace

void DetectCrossedLinks(const DiagnosisInput& input, Findings& found) {
  const topology::Fabric& fabric = input.fabric();
  const Balances& ways = input.link_balances();
  const std::vector<bool> as_most = FarOffAsMost(input, ways);
  std::vector<Unbalanced> unbalanced;
  for (LinkIndex index = 0; index < fabric.links().size(); ++index) {
    if (IsKnown(input, index)) continue;
    if (const auto link = UnbalancedLink(input, ways, as_most, index)) unbalanced.push_back(*link);
  }
  const ByTotals totals(input, unbalanced);
  for (size_t i = 0; i < unbalanced.size(); ++i) {
    for (const size_t j : totals.PartnersOf(i)) {
      const topology::Link& a = fabric.link(unbalanced[i].link);
      const topology::Link& b = fabric.link(unbalanced[j].link);
      const auto end = CrossedWith(input, a, b);
      if (!end) continue;
      Finding finding = {.kind = FaultKind::kSwappedCables,
                         .place = {.kind = PlaceKind::kLink, .index = unbalanced[i].link},
                         .confidence = 0.97,
                         .from = input.BeginOf(std::min(unbalanced[i].first, unbalanced[j].first)),
                         .detected_at = input.EndOf(
                             std::max(unbalanced[i].detected_at, unbalanced[j].detected_at))};
      for (size_t of_a = 0; of_a < 2; ++of_a) {
        finding.evidence.push_back(fmt::format(
            "{} is connected to {}: each receives what the other sends",
            fabric.NameOf(a.ends[of_a]), fabric.NameOf(b.ends[of_a == 0 ? *end : 1 - *end])));
      }
      finding.symptoms.push_back({.kind = FaultKind::kSwappedCables,
                                  .place = {.kind = PlaceKind::kLink, .index = unbalanced[j].link},
                                  .probability = finding.confidence});
      found.push_back(std::move(finding));
    }
  }
}

TimeToDetection TimeToDetectCrossedLinks(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.signs = fmt::format("a mismatch of {} times the frames that can be in flight",
                               thresholds.crossed_link_factor)};
}

}  // namespace rocescope
