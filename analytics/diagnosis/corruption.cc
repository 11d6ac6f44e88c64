// SPDX-License-Identifier: BSD-3-Clause
// Finds the switch or NIC that corrupts packets. NICs count packets with a wrong iCRC. The culprit
// is the switch, or the NIC itself, whose share of each NIC's traffic explains the counts best.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
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

// The increase between two readings is divided between the windows in between. If a NIC misses
// readings, part of its increase is in windows before the damage. At most this fraction of the NICs
// does so at a time.
constexpr double kUnread = 0.1;

struct Damage {
  AffectedPackets at;  // packets, by the NIC that received them
  double all = 0;
  size_t first = 0;
  size_t detected_at = 0;  // the window of the fifth
  size_t last = 0;
};

Damage DamageOf(const DiagnosisInput& input) {
  Damage damage;
  Row sum(input.windows());
  Row nics(input.windows());  // that received such packets
  bool is_exact = true;
  for (NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    const Row row = input.Growth(entity, Metric::kIcrcErrors);
    double own = 0;
    for (size_t w = 0; w < row.size(); ++w) {
      sum[w] += row[w];
      nics[w] += row[w] > 0;
      own += static_cast<double>(row[w]);
    }
    if (own == 0) continue;
    damage.at[nic] = own;
    is_exact = is_exact && input.IsReadAtWindowEnds(entity, Metric::kIcrcErrors);
  }
  for (size_t w = 0; w < sum.size(); ++w) {
    if (sum[w] == 0) continue;
    if (damage.all == 0) damage.first = w;
    if (damage.all < input.thresholds().corrupt_packets) damage.detected_at = w;
    damage.all += static_cast<double>(sum[w]);
    damage.last = w;
  }
  if (is_exact) return damage;
  const double fewest = std::min(2.0, static_cast<double>(damage.at.size()));
  const double enough = std::max(fewest, kUnread * static_cast<double>(damage.at.size()));
  while (damage.first < damage.last && static_cast<double>(nics[damage.first]) < enough) {
    ++damage.first;
  }
  damage.detected_at = std::max(damage.detected_at, damage.first);
  return damage;
}

// Intervals of each flow that are considered.
enum class Intervals : uint8_t { kAll, kLatest };

// Bytes that each NIC received through each switch while packets were corrupted; for affected NICs
// also all bytes that they received.
std::vector<Exposed> ExposedTo(const DiagnosisInput& input, const AffectedPackets& hurts,
                               Timestamp from, Timestamp until, Intervals which) {
  std::map<NodeIndex, Passed> passed;
  std::map<NicIndex, double> received;
  const auto add = [&](const FlowPath& flow, const PathInterval& interval) {
    const auto bytes = static_cast<double>(BytesWithin(interval, from, until));
    if (bytes <= 0) return;
    if (hurts.contains(flow.destination)) received[flow.destination] += bytes;
    for (const topology::PortIndex port : interval.certain) {
      const NodeIndex node = input.fabric().port(port).node;
      if (input.fabric().node(node).IsSwitch()) passed[node][flow.destination] += bytes;
    }
  };
  for (const FlowPath& flow : input.parts().paths) {
    if (flow.destination == kNone) continue;
    const auto behind =
        std::ranges::find_if(flow.intervals, [&](const auto& one) { return one.from >= until; });
    auto first = flow.intervals.begin();
    if (which == Intervals::kLatest && behind != first) first = std::prev(behind);
    for (auto interval = first; interval != behind; ++interval) add(flow, *interval);
  }
  std::vector<Exposed> exposed;
  for (auto& [node, bytes] : passed) {
    exposed.push_back({.kind = FaultKind::kCorruption,
                       .place = {.kind = PlaceKind::kSwitch, .index = node},
                       .passed = std::move(bytes)});
  }
  for (const auto& [nic, bytes] : received) {
    exposed.push_back({.kind = FaultKind::kCorruption,
                       .place = {.kind = PlaceKind::kNic, .index = nic},
                       .passed = {{nic, bytes}}});
  }
  return exposed;
}

// Whether most of the traffic is that of NICs which received no corrupted packet.
bool AreMostIntact(const Passed& passed, const AffectedPackets& hurts) {
  double intact = 0;
  double all = 0;
  for (const auto& [nic, bytes] : passed) {
    all += bytes;
    if (!hurts.contains(nic)) intact += bytes;
  }
  return 2 * intact > all;
}

}  // namespace

void DetectCorruption(const DiagnosisInput& input, Findings& found) {
  const Damage damage = DamageOf(input);
  if (damage.all < input.thresholds().corrupt_packets) return;
  const Timestamp until = input.EndOf(damage.last);
  std::vector<Exposed> exposed =
      ExposedTo(input, damage.at, input.BeginOf(damage.first), until, Intervals::kAll);
  // If no flow was sampled in this interval, the latest paths before are assumed.
  const bool is_sampled = !exposed.empty();
  if (!is_sampled) {
    exposed = ExposedTo(input, damage.at, Timestamp::min(), until, Intervals::kLatest);
  }
  const std::vector<Suspect> ranked = RankSuspects(exposed, damage.at);
  if (ranked.empty()) return;
  Finding finding = {.from = input.BeginOf(damage.first),
                     .detected_at = input.EndOf(damage.detected_at)};
  SetSuspects(ranked, finding);
  // A sender or several NICs may also be the cause.
  const double certain = input.thresholds().vote_confidence;
  finding.confidence *= certain;
  for (Suspect& rival : finding.alternatives) rival.probability *= certain;
  finding.evidence.push_back(fmt::format(
      "{} received {} with a valid FCS and a wrong iCRC; the distribution of these packets fits "
      "best {}",
      Counted(damage.at.size(), "NIC"),
      Counted(static_cast<uint64_t>(std::llround(damage.all)), "packet"),
      finding.place.kind == PlaceKind::kNic
          ? "the traffic to this NIC"
          : "the traffic that each received through this switch"));
  const auto best = std::ranges::find(exposed, finding.place, &Exposed::place);
  if (finding.place.kind == PlaceKind::kSwitch && AreMostIntact(best->passed, damage.at)) {
    Contradict(finding,
               ", but NICs that receive most of its traffic received none: the counters of these "
               "NICs, or their hosts, are more likely");
  }
  if (!is_sampled) {
    finding.evidence.push_back(
        "no flow was sampled in this time: the paths are the latest ones before");
  }
  if (!finding.alternatives.empty()) {
    finding.further.push_back(
        "counters of more NICs behind the same switches: a switch corrupts their packets too");
  }
  finding.until = input.Until(damage.last);
  found.push_back(std::move(finding));
}

TimeToDetection TimeToDetectCorruption(FaultKind /*kind*/, const Thresholds& thresholds) {
  return {.signs = fmt::format("{} packets with a wrong iCRC", thresholds.corrupt_packets)};
}

}  // namespace rocescope
