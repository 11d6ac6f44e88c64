// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/cables.h"

#include <fmt/format.h>

#include "analytics/cabling/counter_fit.h"
#include "analytics/diagnosis/detectors.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

// Flows between wrong ends before a cable whose other end is unknown is reported.
constexpr uint64_t kLeastFlows = 2;

Finding FindingOf(const DiagnosisInput& input, const CableFinding& cable) {
  Finding finding = {.kind = FaultKind::kSwappedCables,
                     .place = {.kind = PlaceKind::kLink, .index = cable.declared.front()},
                     .confidence = cable.confidence,
                     .from = cable.since,
                     .detected_at = cable.since};
  for (const Cable& real : cable.real) {
    finding.evidence.push_back(fmt::format("{} is connected to {}", input.fabric().NameOf(real[0]),
                                           input.fabric().NameOf(real[1])));
  }
  if (cable.flows > 0) {
    finding.evidence.push_back(fmt::format(
        "{} took paths that do not exist with the declared links", Counted(cable.flows, "flow")));
  }
  for (size_t i = 1; i < cable.declared.size(); ++i) {
    finding.symptoms.push_back({.kind = FaultKind::kSwappedCables,
                                .place = {.kind = PlaceKind::kLink, .index = cable.declared[i]},
                                .probability = cable.confidence});
  }
  return finding;
}

}  // namespace

bool IsSwap(const CableFinding& cable) {
  if (cable.kind == CableFindingKind::kSwapped) return !cable.declared.empty();
  return cable.kind == CableFindingKind::kDisagrees && cable.declared.size() > 1 &&
         !cable.real.empty() && cable.flows >= kLeastFlows && cable.flows_against == 0;
}

void DetectCables(const DiagnosisInput& input, Findings& found) {
  const CablingAnswer& cabling = input.parts().cabling;
  for (const CableFinding& cable : cabling.findings) {
    if (IsSwap(cable)) found.push_back(FindingOf(input, cable));
  }
  for (const CableFinding& cable : cabling.ended) {
    if (!IsSwap(cable) || cable.until < input.BeginOf(0)) continue;
    found.push_back(FindingOf(input, cable));
    found.back().until = cable.until;
  }
}

TimeToDetection TimeToDetectCables(FaultKind /*kind*/, const Thresholds& /*thresholds*/) {
  return {.signs =
              fmt::format("{} flows between ends of two declared links, or {} readings of both "
                          "ends that fit only another cable",
                          kLeastFlows, CounterFit::kLeastReadings)};
}

}  // namespace rocescope
