// SPDX-License-Identifier: BSD-3-Clause
// Where packets are lost, or damaged, that no counter tells of: by whose packets are. A place whose
// share of everybody's traffic explains best who lost how many is the likeliest; places whose
// counters prove that they lost nothing are none, nor those that taps saw the lost ones before, or
// behind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/suspects.h"
#include "analytics/job/flow_of.h"
#include "base/count_text.h"

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

// Who receives there would have said if it had been damaged.
bool TellsDamage(const Scene& scene, PortIndex sender) {
  const PortIndex receiver = scene.fabric().Peer(sender);
  return receiver != kNone && scene.Tells(scene.EntityOf(receiver), Metric::kFcsErrors);
}

// NICs that say what reached them damaged leave nothing to be voted on.
bool NicsTell(const Scene& scene) {
  for (topology::NicIndex nic = 0; nic < scene.fabric().nics().size(); ++nic) {
    if (scene.Tells({.kind = EntityKind::kNic, .index = nic}, Metric::kIcrcErrors)) return true;
  }
  return false;
}

// Where along its way a flow lost packets, by what taps saw of those.
struct Between {
  size_t first = 0;       // by number of its ports: the last one whose switch had got them
  size_t end = SIZE_MAX;  // and the first one whose switch had not
};

// A NAK is for one packet at least. The switch whose tap saw so many packets come late got them
// only when they were sent again; where hardly any did, all had come by before.
Between BetweenTaps(const Scene& scene, const std::vector<PortIndex>& way,
                    const std::vector<LossObservation>& sights, double refused) {
  constexpr double kMost = 0.5;
  constexpr double kHardlyAny = 0.1;
  Between between;
  for (size_t i = 0; i < way.size(); ++i) {
    const auto sight =
        std::ranges::find(sights, scene.fabric().port(way[i]).node, &LossObservation::node);
    if (sight == sights.end()) continue;
    const auto late = static_cast<double>(sight->late);
    if (late >= kMost * refused) {
      between.end = std::min(between.end, i);
    } else if (late <= kHardlyAny * refused && sight->retransmitted > 0) {
      between.first = i;
    }
  }
  // Packets also come out of order by themselves.
  return between.first < between.end ? between : Between();
}

// Bytes of each flow, by its place among the paths, that went by each place where they may have
// been hurt.
std::vector<Exposed> ExposedTo(const Scene& scene, const std::map<FlowKey, double>& losses,
                               Timestamp from, Timestamp until) {
  std::map<Place, Passed> passed;
  // The windows of which refusals count.
  const int64_t begin = scene.parts().metrics.WindowOf(scene.BeginOf(0));
  const int64_t end = begin + static_cast<int64_t>(scene.windows());
  uint32_t number = 0;
  for (const FlowPath& path : scene.parts().paths) {
    const auto lost = losses.find(path.flow);
    for (const PathInterval& stretch : path.intervals) {
      const auto bytes = static_cast<double>(BytesWithin(stretch, from, until));
      if (bytes <= 0) continue;
      const std::vector<PortIndex>& way = stretch.certain;
      const Between between =
          lost == losses.end()
              ? Between()
              : BetweenTaps(scene, way, scene.parts().losses.ObservationsOf(path.flow, begin, end),
                            lost->second);
      for (size_t i = 0; i < way.size(); ++i) {
        const NodeIndex node = scene.fabric().port(way[i]).node;
        // What a switch damages goes on to the receiver, by all taps.
        if (scene.fabric().node(node).IsSwitch() && between.end == SIZE_MAX) {
          passed[{.kind = PlaceKind::kSwitch, .index = node}][number] += bytes;
        }
        if (IsCounted(scene, way[i]) || i < between.first || i >= between.end) continue;
        passed[{
            .kind = PlaceKind::kLink, .index = scene.fabric().port(way[i]).link, .sender = way[i]}]
              [number] += bytes;
      }
    }
    ++number;
  }
  // Damaged frames are the usual reason of loss on a link, and silent loss the rare one (Zhuo et
  // al., Understanding and Mitigating Packet Corruption in Data Center Networks, SIGCOMM 2017).
  constexpr double kDamaged = 2.0 / 3;
  std::vector<Exposed> exposed;
  for (auto& [place, bytes] : passed) {
    if (place.kind == PlaceKind::kSwitch) {
      exposed.push_back({.kind = FindingKind::kCorruption, .place = place, .passed = bytes});
      continue;
    }
    const bool damage_is_told = TellsDamage(scene, place.sender);
    if (!damage_is_told) {
      exposed.push_back(
          {.kind = FindingKind::kBitErrors, .place = place, .passed = bytes, .prior = kDamaged});
    }
    exposed.push_back({.kind = FindingKind::kGrayLoss,
                       .place = place,
                       .passed = bytes,
                       .prior = damage_is_told ? 1 : 1 - kDamaged});
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
      RankByHurts(ExposedTo(scene, losses, scene.BeginOf(first), scene.EndOf(last)), hurts);
  if (ranked.empty() || hurts.empty()) return;
  Finding finding = {
      .basis = Basis::kVotes, .from = scene.BeginOf(first), .verdict = scene.EndOf(verdict)};
  Accuse(ranked, finding);
  // As many places are as likely: which of them comes first says nothing.
  constexpr double kSomewhere = 0.05;
  if (finding.confidence < kSomewhere) return;
  // Votes alone: that nobody else is to blame is not known.
  constexpr double kNobodyElse = 0.9;
  finding.confidence *= kNobodyElse;
  for (Suspect& rival : finding.alternatives) rival.probability *= kNobodyElse;
  finding.until = scene.Until(last);
  finding.evidence.push_back(fmt::format(
      "receivers refused packets of {} {}; whose and how often goes best with how much "
      "of each passed here",
      Counted(hurts.size(), "flow"), Counted(static_cast<uint64_t>(std::llround(all)), "time")));
  finding.further.push_back("counters of NICs: damaged packets are counted there, lost ones not");
  found.push_back(std::move(finding));
}

}  // namespace rocescope
