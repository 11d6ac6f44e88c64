// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/loss_signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

#include "base/count_text.h"

namespace rocescope {

Row GrowthOfAllNics(const DiagnosisInput& input, Metric metric) {
  Row sum;
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    if (!input.HasMetric(entity, metric)) continue;
    const Row row = input.Growth(entity, metric);
    sum.resize(row.size());
    for (size_t w = 0; w < row.size(); ++w) sum[w] += row[w];
  }
  return sum;
}

Timestamp FirstSignOfLoss(const DiagnosisInput& input, Timestamp from, Timestamp until) {
  constexpr uint64_t kAccidents = 50;  // up to one in this many signs has another cause
  const MetricStore& metrics = input.parts().metrics;
  if (input.windows() == 0 || from < input.BeginOf(0) || until <= from) return from;
  const size_t first = input.PlaceOf(metrics.WindowOf(from));
  const size_t last = std::min(input.PlaceOf(metrics.WindowOf(until)), input.windows() - 1);
  Row signs(input.windows());
  for (const Metric metric : kLossSigns) {
    const Row row = GrowthOfAllNics(input, metric);
    for (size_t w = 0; w < row.size(); ++w) signs[w] += row[w];
  }
  uint64_t all = 0;
  for (size_t w = first; w <= last; ++w) all += signs[w];
  uint64_t sum = 0;
  for (size_t w = first; w <= last; ++w) {
    sum += signs[w];
    if (sum * kAccidents > all) return std::max(from, input.BeginOf(w));
  }
  return from;
}

std::optional<uint64_t> SignsOfLostData(const DiagnosisInput& input, size_t from) {
  std::optional<uint64_t> signs;
  for (const Metric metric : kLossSigns) {
    const Row row = GrowthOfAllNics(input, metric);
    if (row.empty()) continue;
    signs =
        std::accumulate(row.begin() + static_cast<ptrdiff_t>(from), row.end(), signs.value_or(0));
  }
  return signs;
}

namespace {

// Whether the NIC reported the sign until about this time.
bool ReportsUntil(const DiagnosisInput& input, const Entity& nic, Metric sign, Timestamp time) {
  const MetricSeries* series = input.parts().metrics.Find(nic, sign);
  return series != nullptr && series->last_reading() + 2 * series->last_interval() >= time;
}

// Most frames that can be lost without a further sign.
uint64_t FramesPerSign(const CountedLoss& loss) {
  // A NIC that times out has lost at most so many packets that were on their way.
  constexpr uint64_t kBurst = 10'000;
  constexpr uint64_t kSteady = 1'000;
  // A link with so few lost frames per second loses them one by one. Ports also send LLDP, LACP and
  // other control frames, which some devices do not count.
  constexpr double kControlFrames = 2;  // per second
  constexpr uint64_t kSingle = 10;
  const double seconds = std::chrono::duration<double>(loss.last - loss.from).count();
  if (static_cast<double>(loss.frames) <= kControlFrames * seconds) return kSingle;
  return loss.is_steady ? kSteady : kBurst;
}

// NICs that lose packets at the place, as senders or receivers.
std::vector<topology::NicIndex> NicsBehind(const DiagnosisInput& input, const Place& place) {
  const topology::Fabric& fabric = input.fabric();
  std::vector<topology::NodeIndex> leaves;
  const auto add = [&](topology::NodeIndex node) {
    if (fabric.node(node).tier == topology::Tier::kLeaf) leaves.push_back(node);
  };
  if (place.kind == PlaceKind::kSwitch) add(place.index);
  if (place.kind == PlaceKind::kLink) {
    for (const topology::PortIndex end : fabric.link(place.index).ends) {
      if (const topology::NicIndex nic = fabric.NicOf(end); nic != topology::kNone) return {nic};
      add(fabric.port(end).node);
    }
  }
  std::vector<topology::NicIndex> nics;
  for (topology::NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    const topology::NodeIndex leaf = fabric.PeerNode(fabric.nic(nic).port);
    if (leaves.empty() || std::ranges::find(leaves, leaf) != leaves.end()) nics.push_back(nic);
  }
  return nics;
}

// The signs since a time; those of the whole time if it is before the stored windows.
uint64_t SignsSince(const DiagnosisInput& input, const Entity& nic, Timestamp time) {
  uint64_t signs = 0;
  for (const Metric sign : kLossSigns) {
    const MetricSeries* series = input.parts().metrics.Find(nic, sign);
    if (series == nullptr) continue;
    if (time < input.BeginOf(0)) {
      signs += series->total();
      continue;
    }
    const int64_t from = input.parts().metrics.WindowOf(time);
    const int64_t until = input.parts().metrics.WindowOf(input.EndOf(input.windows() - 1)) + 1;
    signs += series->Sum(from, until);
  }
  return signs;
}

// Returns the signs that the NICs behind the place counted since the loss began, if they are too
// few for its size. Unset: no contradiction, or not all of these NICs that are active reported
// signs until its end.
std::optional<uint64_t> SignsThatContradict(const DiagnosisInput& input, const CountedLoss& loss,
                                            const Place& place) {
  if (input.windows() == 0) return std::nullopt;
  const uint64_t frames_per_sign = FramesPerSign(loss);
  if (loss.frames < frames_per_sign) return std::nullopt;
  uint64_t signs = 0;
  bool do_any_report = false;
  for (const topology::NicIndex nic : NicsBehind(input, place)) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    const bool does_report = ReportsUntil(input, entity, Metric::kOutOfSequence, loss.last) &&
                             ReportsUntil(input, entity, Metric::kLocalAckTimeout, loss.last);
    const Row sent = input.Growth(entity, Metric::kTxPackets);
    const bool is_active = std::ranges::any_of(sent, [](uint64_t packets) { return packets > 0; });
    if (!does_report && (is_active || !input.HasMetric(entity, Metric::kTxPackets))) {
      return std::nullopt;
    }
    do_any_report |= does_report;
    signs += SignsSince(input, entity, loss.from);
  }
  if (!do_any_report || (signs + 1) * frames_per_sign > loss.frames) return std::nullopt;
  return signs;
}

}  // namespace

void DoubtLoss(const DiagnosisInput& input, const CountedLoss& loss, Finding& finding) {
  const auto signs = SignsThatContradict(input, loss, finding.place);
  if (!signs) return;
  Contradict(finding, fmt::format(", but NICs noticed only {} of lost packets in this time: the "
                                  "counters of ports are wrong, or include other frames",
                                  Counted(*signs, "sign")));
}

}  // namespace rocescope
