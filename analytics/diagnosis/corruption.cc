// SPDX-License-Identifier: BSD-3-Clause
// Who damages packets inside, by who got them: NICs count packets whose invariant CRC is wrong, and
// the switch by way of which they came is the one whose share of everybody's traffic explains
// everybody's counts best.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/suspects.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;

struct Damage {
  Hurts at;  // packets, by the NIC that received them
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
std::vector<Exposed> ExposedTo(const Scene& scene, Timestamp from, Timestamp until) {
  std::map<NodeIndex, Passed> passed;
  for (const FlowPath& flow : scene.parts().paths) {
    if (flow.destination == kNone) continue;
    for (const PathStretch& stretch : flow.stretches) {
      const auto octets = static_cast<double>(BytesWithin(stretch, from, until));
      if (octets <= 0) continue;
      for (const topology::PortIndex port : stretch.certain) {
        const NodeIndex node = scene.fabric().port(port).node;
        if (scene.fabric().node(node).IsSwitch()) passed[node][flow.destination] += octets;
      }
    }
  }
  std::vector<Exposed> exposed;
  for (auto& [node, octets] : passed) {
    exposed.push_back({.kind = FindingKind::kCorruption,
                       .place = {.kind = PlaceKind::kSwitch, .index = node},
                       .passed = std::move(octets)});
  }
  return exposed;
}

}  // namespace

void DetectCorruption(const Scene& scene, Findings& found) {
  const Damage damage = DamageOf(scene);
  if (damage.all < kEnough) return;
  const std::vector<Suspect> ranked = RankByHurts(
      ExposedTo(scene, scene.BeginOf(damage.first), scene.EndOf(damage.last)), damage.at);
  if (ranked.empty()) return;
  Finding finding = {.from = scene.BeginOf(damage.first), .verdict = scene.EndOf(damage.verdict)};
  Accuse(ranked, finding);
  finding.evidence.push_back(fmt::format(
      "{} got {} with whole frames and a wrong invariant CRC; who got how many of them goes best "
      "with how much each got by way of this switch",
      Counted(damage.at.size(), "NIC"),
      Counted(static_cast<uint64_t>(std::llround(damage.all)), "packet")));
  finding.until = scene.Until(damage.last);
  found.push_back(std::move(finding));
}

}  // namespace rocescope
