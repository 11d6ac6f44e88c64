// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/loss_signs.h"

#include <algorithm>
#include <cstddef>

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

}  // namespace rocescope
