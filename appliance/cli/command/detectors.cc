// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/detectors.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "analytics/diagnosis/detectors.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

// Calls visit(kind, time) for each kind of the detector, in the order of the registry of kinds.
template <typename Visit>
void VisitKinds(const Detector& detector, Visit visit) {
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (detector.kinds.Contains(kind)) visit(InfoOf(kind), detector.time(kind, Thresholds{}));
  }
}

std::string TextOfDetectors() {
  TextTable table({{"DETECTOR"},
                   {"FALSE FINDINGS PER DAY", Align::kRight},
                   {"FAULT TYPE"},
                   {"WINDOWS", Align::kRight},
                   {"REQUIRED SIGNS"}});
  for (const Detector& detector : kDetectors) {
    bool is_first = true;
    VisitKinds(detector, [&](const FaultInfo& info, const TimeToDetection& time) {
      table.Add({is_first ? std::string(detector.name) : "",
                 is_first ? fmt::format("{:g}", detector.false_alarms_per_day) : "",
                 std::string(info.name), std::to_string(time.windows), time.signs});
      is_first = false;
    });
  }
  return table.Render(0);
}

std::string JsonOfDetectors() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Detector& detector : kDetectors) {
    nlohmann::ordered_json kinds = nlohmann::ordered_json::array();
    VisitKinds(detector, [&](const FaultInfo& info, const TimeToDetection& time) {
      kinds.push_back({{"kind", info.name}, {"windows", time.windows}, {"signs", time.signs}});
    });
    all.push_back({{"detector", detector.name},
                   {"telemetry", detector.telemetry},
                   {"false_findings_per_day", detector.false_alarms_per_day},
                   {"kinds", std::move(kinds)}});
  }
  return nlohmann::ordered_json{{"detectors", std::move(all)}}.dump(1) + "\n";
}

}  // namespace

int RunDetectors(ReportFormat format) {
  const std::string text = format == ReportFormat::kJson ? JsonOfDetectors() : TextOfDetectors();
  return WriteToStdout(text) == OutputState::kFailed ? kExitOutput : kExitSuccess;
}

}  // namespace rocescope
