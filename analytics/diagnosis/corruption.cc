// SPDX-License-Identifier: BSD-3-Clause
// Who damages packets inside, by who got them: NICs count packets whose invariant CRC is wrong, and
// the switch by way of which they came, or the NIC itself, is the one whose share of everybody's
// traffic explains everybody's counts best.
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

// Bytes that came to each NIC by way of each switch while packets were damaged; of those that
// were hurt, also what came to them at all.
std::vector<Exposed> ExposedTo(const Scene& scene, const Hurts& hurts, Timestamp from,
                               Timestamp until) {
  std::map<NodeIndex, Passed> passed;
  std::map<NicIndex, double> received;
  for (const FlowPath& flow : scene.parts().paths) {
    if (flow.destination == kNone) continue;
    for (const PathInterval& stretch : flow.intervals) {
      const auto bytes = static_cast<double>(BytesWithin(stretch, from, until));
      if (bytes <= 0) continue;
      if (hurts.contains(flow.destination)) received[flow.destination] += bytes;
      for (const topology::PortIndex port : stretch.certain) {
        const NodeIndex node = scene.fabric().port(port).node;
        if (scene.fabric().node(node).IsSwitch()) passed[node][flow.destination] += bytes;
      }
    }
  }
  std::vector<Exposed> exposed;
  for (auto& [node, bytes] : passed) {
    exposed.push_back({.kind = FindingKind::kCorruption,
                       .place = {.kind = PlaceKind::kSwitch, .index = node},
                       .passed = std::move(bytes)});
  }
  for (const auto& [nic, bytes] : received) {
    exposed.push_back({.kind = FindingKind::kCorruption,
                       .place = {.kind = PlaceKind::kNic, .index = nic},
                       .passed = {{nic, bytes}}});
  }
  return exposed;
}

}  // namespace

void DetectCorruption(const Scene& scene, Findings& found) {
  const Damage damage = DamageOf(scene);
  if (damage.all < kEnough) return;
  const std::vector<Suspect> ranked = RankByHurts(
      ExposedTo(scene, damage.at, scene.BeginOf(damage.first), scene.EndOf(damage.last)),
      damage.at);
  if (ranked.empty()) return;
  Finding finding = {.from = scene.BeginOf(damage.first), .verdict = scene.EndOf(damage.verdict)};
  Accuse(ranked, finding);
  // That nobody else is to blame, as a sender or several NICs, is not known.
  constexpr double kNobodyElse = 0.9;
  finding.confidence *= kNobodyElse;
  for (Suspect& rival : finding.alternatives) rival.probability *= kNobodyElse;
  finding.evidence.push_back(fmt::format(
      "{} got {} with whole frames and a wrong invariant CRC; who got how many of them goes best "
      "with {}",
      Counted(damage.at.size(), "NIC"),
      Counted(static_cast<uint64_t>(std::llround(damage.all)), "packet"),
      finding.place.kind == PlaceKind::kNic ? "what came to this one"
                                            : "how much each got by way of this switch"));
  if (!finding.alternatives.empty()) {
    finding.further.push_back(
        "counters of more NICs behind the same switches: a switch damages what goes to those too");
  }
  finding.until = scene.Until(damage.last);
  found.push_back(std::move(finding));
}

}  // namespace rocescope
