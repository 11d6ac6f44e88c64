// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/loss_signs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

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

// The signs of the whole time.
uint64_t AllSignsOfLostData(const DiagnosisInput& input) {
  uint64_t signs = 0;
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    for (const Metric sign : kLossSigns) {
      const MetricSeries* series =
          input.parts().metrics.Find({.kind = EntityKind::kNic, .index = nic}, sign);
      if (series != nullptr) signs += series->total();
    }
  }
  return signs;
}

}  // namespace

std::optional<uint64_t> SignsThatContradict(const DiagnosisInput& input, const CountedLoss& loss) {
  // A NIC that times out has lost at most so many packets that were on their way.
  constexpr uint64_t kFramesPerSign = 10'000;
  if (loss.frames < kFramesPerSign || input.windows() == 0) return std::nullopt;
  for (topology::NicIndex nic = 0; nic < input.fabric().nics().size(); ++nic) {
    const Entity entity{.kind = EntityKind::kNic, .index = nic};
    const Row sent = input.Growth(entity, Metric::kTxPackets);
    const bool is_active = std::ranges::any_of(sent, [](uint64_t packets) { return packets > 0; });
    if (!is_active && input.HasMetric(entity, Metric::kTxPackets)) continue;
    if (!ReportsUntil(input, entity, Metric::kOutOfSequence, loss.last) ||
        !ReportsUntil(input, entity, Metric::kLocalAckTimeout, loss.last)) {
      return std::nullopt;
    }
  }
  uint64_t signs = 0;
  if (loss.from < input.BeginOf(0)) {
    signs = AllSignsOfLostData(input);
  } else {
    const size_t window = input.PlaceOf(input.parts().metrics.WindowOf(loss.from));
    signs = SignsOfLostData(input, std::min(window, input.windows() - 1)).value_or(0);
  }
  if ((signs + 1) * kFramesPerSign > loss.frames) return std::nullopt;
  return signs;
}

void DoubtLoss(const DiagnosisInput& input, const CountedLoss& loss, Finding& finding) {
  const auto signs = SignsThatContradict(input, loss);
  if (!signs) return;
  finding.confidence = std::min(finding.confidence, kContradicted);
  finding.is_contradicted = true;
  // In the first line of evidence, which is all that lists of suspicions show.
  finding.evidence.front() += fmt::format(
      ", but NICs noticed only {} of lost packets in this time: the packet counters of ports are "
      "probably wrong",
      Counted(*signs, "sign"));
}

}  // namespace rocescope
