// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/loss_signs.h"

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

}  // namespace rocescope
