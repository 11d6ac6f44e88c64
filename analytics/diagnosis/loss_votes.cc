// SPDX-License-Identifier: BSD-3-Clause
// Where packets are lost, or damaged, that no counter tells of: by whose packets are. A place whose
// share of everybody's traffic explains best who lost how many is the likeliest; places whose
// counters prove that they lost nothing are none.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/suspects.h"
#include "analytics/job/flow_of.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

// Somebody would have counted what was lost there.
bool IsCounted(const Scene& scene, PortIndex sender) {
  const PortIndex receiver = scene.fabric().Peer(sender);
  return receiver != kNone && scene.AreSimultaneous(scene.EntityOf(sender), Metric::kTxPackets,
                                                    scene.EntityOf(receiver), Metric::kRxPackets);
}

// NICs that say what reached them damaged leave nothing to be voted on.
bool NicsTell(const Scene& scene) {
  for (topology::NicIndex nic = 0; nic < scene.fabric().nics().size(); ++nic) {
    if (scene.Tells({.kind = EntityKind::kNic, .index = nic}, Metric::kIcrcErrors)) return true;
  }
  return false;
}

// Octets of each flow, by its place among the paths, that went by each place.
std::vector<Exposed> ExposedTo(const Scene& scene, Timestamp from, Timestamp until) {
  std::map<Place, Passed> passed;
  uint32_t number = 0;
  for (const FlowPath& path : scene.parts().paths) {
    for (const PathStretch& stretch : path.stretches) {
      const auto octets = static_cast<double>(BytesWithin(stretch, from, until));
      if (octets <= 0) continue;
      for (const PortIndex port : stretch.certain) {
        const NodeIndex node = scene.fabric().port(port).node;
        if (scene.fabric().node(node).IsSwitch()) {
          passed[{.kind = PlaceKind::kSwitch, .index = node}][number] += octets;
        }
        if (IsCounted(scene, port)) continue;
        passed[{.kind = PlaceKind::kLink, .index = scene.fabric().port(port).link, .sender = port}]
              [number] += octets;
      }
    }
    ++number;
  }
  std::vector<Exposed> exposed;
  for (auto& [place, octets] : passed) {
    exposed.push_back(
        {.kind = place.kind == PlaceKind::kLink ? FindingKind::kGrayLoss : FindingKind::kCorruption,
         .place = place,
         .passed = std::move(octets)});
  }
  return exposed;
}

}  // namespace

void DetectUncountedLoss(const Scene& scene, Findings& found) {
  if (NicsTell(scene)) return;
  const auto other = OtherWays(scene.parts().connections);
  std::map<FlowKey, double> losses;
  size_t first = scene.windows();
  size_t last = 0;
  std::map<size_t, double> by_window;
  for (const auto& [flow, windows] : scene.parts().losses.losses()) {
    const auto refused = other.find(flow);
    for (const LossWindow& window : windows) {
      const size_t place = scene.PlaceOf(window.window);
      if (place >= scene.windows() || window.refused == 0 || refused == other.end()) continue;
      losses[refused->second] += static_cast<double>(window.refused);
      by_window[place] += static_cast<double>(window.refused);
      first = std::min(first, place);
      last = std::max(last, place);
    }
  }
  constexpr double kEnough = 5;
  double all = 0;
  size_t verdict = last;
  for (const auto& [place, count] : by_window) {
    all += count;
    if (all >= kEnough && verdict == last) verdict = place;
  }
  if (all < kEnough) return;
  Hurts hurts;
  uint32_t number = 0;
  for (const FlowPath& path : scene.parts().paths) {
    if (const auto at = losses.find(path.flow); at != losses.end()) hurts[number] = at->second;
    ++number;
  }
  const std::vector<Suspect> ranked =
      RankByHurts(ExposedTo(scene, scene.BeginOf(first), scene.EndOf(last)), hurts);
  if (ranked.empty() || hurts.empty()) return;
  Finding finding = {
      .basis = Basis::kVotes, .from = scene.BeginOf(first), .verdict = scene.EndOf(verdict)};
  Accuse(ranked, finding);
  // Votes alone: that nobody else is to blame is not known.
  finding.confidence *= 0.9;
  finding.until = scene.Until(last);
  finding.evidence.push_back(
      fmt::format("receivers refused packets of {} flows {:.0f} times, and what passed here "
                  "explains best whose",
                  hurts.size(), all));
  finding.further.push_back("counters of NICs: damaged packets are counted there, lost ones not");
  found.push_back(std::move(finding));
}

}  // namespace rocescope
