// SPDX-License-Identifier: BSD-3-Clause
// Locates loss or corruption that no counter shows, from the flows whose packets are affected. The
// most likely place is the one whose traffic explains best which flow lost how many packets. Places
// whose counters prove that they lost nothing are excluded, and places before or behind taps that
// saw the packets.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/loss_taps.h"
#include "analytics/diagnosis/suspects.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

// Whether the counters of both ends would show a loss on the link.
bool IsCounted(const DiagnosisInput& input, PortIndex sender) {
  const PortIndex receiver = input.fabric().Peer(sender);
  return receiver != kNone && input.AreSimultaneous(input.EntityOf(sender), Metric::kTxPackets,
                                                    input.EntityOf(receiver), Metric::kRxPackets);
}

// Whether the receiving port counts frames with errors.
bool CountsErrors(const DiagnosisInput& input, PortIndex sender) {
  const PortIndex receiver = input.fabric().Peer(sender);
  if (receiver == kNone) return false;
  const Entity entity = input.EntityOf(receiver);
  return input.HasMetric(entity, input.ErrorMetricOf(entity));
}

// Votes are not needed if NICs count corrupted packets.
bool NicsCountErrors(const DiagnosisInput& input) {
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    if (input.HasMetric({.kind = EntityKind::kNic, .index = nic}, Metric::kIcrcErrors)) return true;
  }
  return false;
}

// Bytes of each flow, by the index of its path, that passed each place where its packets may have
// been affected.
std::vector<Exposed> ExposedTo(const DiagnosisInput& input, const Naks& naks, Timestamp from,
                               Timestamp until) {
  std::map<Place, Passed> passed;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto lost = naks.by_flow.find(path.flow);
    for (const PathInterval& stretch : path.intervals) {
      const auto bytes = static_cast<double>(BytesWithin(stretch, from, until));
      if (bytes <= 0) continue;
      const std::vector<PortIndex>& way = stretch.certain;
      const Between between =
          lost == naks.by_flow.end() ? Between() : BetweenTaps(input, way, path.flow, lost->second);
      for (size_t i = 0; i < way.size(); ++i) {
        const NodeIndex node = input.fabric().port(way[i]).node;
        // Packets that a switch corrupts still pass all taps on the way to the receiver.
        if (input.fabric().node(node).IsSwitch() && between.end == SIZE_MAX) {
          passed[{.kind = PlaceKind::kSwitch, .index = node}][number] += bytes;
        }
        if (IsCounted(input, way[i]) || !between.Contains(i)) continue;
        passed[{
            .kind = PlaceKind::kLink, .index = input.fabric().port(way[i]).link, .sender = way[i]}]
              [number] += bytes;
      }
    }
    ++number;
  }
  const double damaged = input.thresholds().bit_error_prior;
  std::vector<Exposed> exposed;
  for (auto& [place, bytes] : passed) {
    if (place.kind == PlaceKind::kSwitch) {
      exposed.push_back({.kind = FaultKind::kCorruption, .place = place, .passed = bytes});
      continue;
    }
    const bool damage_is_told = CountsErrors(input, place.sender);
    if (!damage_is_told) {
      exposed.push_back(
          {.kind = FaultKind::kBitErrors, .place = place, .passed = bytes, .prior = damaged});
    }
    exposed.push_back({.kind = FaultKind::kGrayLoss,
                       .place = place,
                       .passed = bytes,
                       .prior = damage_is_told ? 1 : 1 - damaged});
  }
  return exposed;
}

}  // namespace

void DetectUncountedLoss(const DiagnosisInput& input, Findings& found) {
  if (NicsCountErrors(input)) return;
  const Naks naks = NaksOf(input);
  const double enough = input.thresholds().naks;
  if (naks.all < enough) return;
  double sum = 0;
  size_t detected_at = naks.last();
  for (const auto& [place, count] : naks.by_window) {
    sum += count;
    if (sum >= enough && detected_at == naks.last()) detected_at = place;
  }
  AffectedPackets hurts;
  uint32_t number = 0;
  for (const FlowPath& path : input.parts().paths) {
    const auto at = naks.by_flow.find(path.flow);
    if (at != naks.by_flow.end()) hurts[number] = at->second;
    ++number;
  }
  const std::vector<Suspect> ranked = RankSuspects(
      ExposedTo(input, naks, input.BeginOf(naks.first()), input.EndOf(naks.last())), hurts);
  if (ranked.empty() || hurts.empty()) return;
  Finding finding = {.basis = Basis::kVotes,
                     .from = input.BeginOf(naks.first()),
                     .detected_at = input.EndOf(detected_at)};
  SetSuspects(ranked, finding);
  // Many places are equally likely, so the order of the first ones means nothing.
  if (finding.confidence < input.thresholds().least_vote_confidence) return;
  // Votes do not exclude other causes.
  const double certain = input.thresholds().vote_confidence;
  finding.confidence *= certain;
  for (Suspect& rival : finding.alternatives) rival.probability *= certain;
  finding.until = input.Until(naks.last());
  finding.evidence.push_back(fmt::format(
      "receivers sent NAKs for packets of {} {}; the distribution of the NAKs fits best the "
      "traffic of each flow through this place",
      Counted(hurts.size(), "flow"),
      Counted(static_cast<uint64_t>(std::llround(naks.all)), "time")));
  finding.further.push_back("counters of NICs: they count corrupted packets but not lost ones");
  found.push_back(std::move(finding));
}

TimeToDetection TimeToDetectUncountedLoss(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.signs = fmt::format("{} NAKs", thresholds.naks)};
}

}  // namespace rocescope
