// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {

void DetectCables(const Scene& scene, Findings& found) {
  for (const CableFinding& cable : scene.parts().cabling.findings) {
    if (cable.kind != CableFindingKind::kSwapped || cable.declared.empty()) continue;
    Finding finding = {.kind = FindingKind::kSwappedCables,
                       .place = {.kind = PlaceKind::kLink, .index = cable.declared.front()},
                       .confidence = cable.confidence,
                       .from = cable.since,
                       .verdict = cable.since};
    for (const Cable& real : cable.real) {
      finding.evidence.push_back(fmt::format("{} is connected with {}",
                                             scene.fabric().NameOf(real[0]),
                                             scene.fabric().NameOf(real[1])));
    }
    if (cable.flows > 0) {
      finding.evidence.push_back(fmt::format("{} passed as the declared links do not let them",
                                             Counted(cable.flows, "flow")));
    }
    for (size_t i = 1; i < cable.declared.size(); ++i) {
      finding.symptoms.push_back({.kind = FindingKind::kSwappedCables,
                                  .place = {.kind = PlaceKind::kLink, .index = cable.declared[i]},
                                  .probability = cable.confidence});
    }
    found.push_back(std::move(finding));
  }
}

}  // namespace rocescope
