// SPDX-License-Identifier: BSD-3-Clause
// Who damages packets inside, by who got them: NICs count packets whose invariant CRC is wrong, and
// the switch by way of which they came is the one whose share of everybody's traffic explains
// everybody's counts best.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analytics/diagnosis/detectors.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;

struct Damage {
  std::map<NicIndex, double> at;  // packets, by receiver
  double all = 0;
  size_t first = 0;
  size_t verdict = 0;  // the window of the fifth
  size_t last = 0;
};

constexpr double kEnough = 5;

Damage DamageOf(const Scene& scene) {
  Damage damage;
  Row sum(scene.windows());
  for (NicIndex nic = 0; nic < scene.fabric().nics().size(); ++nic) {
    const Row row = scene.Growth({.kind = EntityKind::kNic, .index = nic}, Metric::kIcrcErrors);
    double own = 0;
    for (size_t w = 0; w < row.size(); ++w) {
      sum[w] += row[w];
      own += static_cast<double>(row[w]);
    }
    if (own > 0) damage.at[nic] = own;
  }
  for (size_t w = 0; w < sum.size(); ++w) {
    if (sum[w] == 0) continue;
    if (damage.all == 0) damage.first = w;
    if (damage.all < kEnough) damage.verdict = w;
    damage.all += static_cast<double>(sum[w]);
    damage.last = w;
  }
  return damage;
}

// Octets that came to each NIC by way of each switch while packets were damaged.
using Exposure = std::map<NodeIndex, std::map<NicIndex, double>>;

Exposure ExposureOf(const Scene& scene, Timestamp from, Timestamp until) {
  Exposure exposure;
  for (const FlowPath& flow : scene.parts().paths) {
    if (flow.destination == kNone) continue;
    for (const PathStretch& stretch : flow.stretches) {
      const Timestamp begin = std::max(from, stretch.from);
      const Timestamp end = std::min(until, stretch.until);
      if (end < begin) continue;
      const double share = static_cast<double>((end - begin).count() + 1) /
                           static_cast<double>((stretch.until - stretch.from).count() + 1);
      for (const topology::PortIndex port : stretch.certain) {
        const NodeIndex node = scene.fabric().port(port).node;
        if (!scene.fabric().node(node).IsSwitch()) continue;
        exposure[node][flow.destination] += share * static_cast<double>(stretch.bytes);
      }
    }
  }
  return exposure;
}

// Of Poisson counts, of which each is as likely as what passed; what the switch cannot explain
// comes from elsewhere with a small rate.
double LogLikelihood(const Damage& damage, const std::map<NicIndex, double>& passed) {
  double sum = 0;
  for (const auto& [nic, octets] : passed) sum += octets;
  if (sum == 0) return -1e300;
  constexpr double kElsewhere = 0.01;
  double likelihood = 0;
  for (const auto& [nic, count] : damage.at) {
    const auto at = passed.find(nic);
    const double share = at == passed.end() ? 0 : at->second / sum;
    likelihood += count * std::log((1 - kElsewhere) * share + kElsewhere * 1e-3);
  }
  return likelihood;
}

}  // namespace

void DetectCorruption(const Scene& scene, Findings& found) {
  const Damage damage = DamageOf(scene);
  if (damage.all < kEnough) return;
  const Exposure exposure =
      ExposureOf(scene, scene.BeginOf(damage.first), scene.EndOf(damage.last));
  std::vector<std::pair<double, NodeIndex>> ranked;
  for (const auto& [node, passed] : exposure) {
    ranked.emplace_back(LogLikelihood(damage, passed), node);
  }
  if (ranked.empty()) return;
  std::ranges::sort(ranked, std::ranges::greater());
  double weights = 0;
  for (const auto& [likelihood, node] : ranked) weights += std::exp(likelihood - ranked[0].first);
  Finding finding = {.kind = FindingKind::kCorruption,
                     .place = {.kind = PlaceKind::kSwitch, .index = ranked[0].second},
                     .confidence = 1 / weights,
                     .from = scene.BeginOf(damage.first),
                     .verdict = scene.EndOf(damage.verdict)};
  constexpr size_t kMostRivals = 4;
  constexpr double kLeast = 0.01;
  for (size_t i = 1; i < ranked.size() && i <= kMostRivals; ++i) {
    const double probability = std::exp(ranked[i].first - ranked[0].first) / weights;
    if (probability < kLeast) break;
    finding.rivals.push_back({.kind = FindingKind::kCorruption,
                              .place = {.kind = PlaceKind::kSwitch, .index = ranked[i].second},
                              .probability = probability});
  }
  finding.evidence.push_back(
      fmt::format("{} NICs got {:.0f} packets with whole frames and a wrong invariant CRC, and "
                  "what they got by "
                  "way of this switch explains who got how many best",
                  damage.at.size(), damage.all));
  constexpr size_t kCalm = 4;
  if (damage.last + kCalm < scene.windows()) finding.until = scene.EndOf(damage.last);
  found.push_back(std::move(finding));
}

}  // namespace rocescope
