// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"

namespace rocescope {
namespace {

// Whether the appliance has received telemetry. True if it does not say: it may be an older
// version.
bool HasTelemetry(const DaemonPage& page) {
  const auto health = AskDaemon(page, "/api/v1/health");
  return !health || TextAt(*health, "state") != "STATE_WAITING";
}

std::string TextOf(const nlohmann::json& problem) {
  const std::string action = TextAt(problem, "recommended_action");
  return fmt::format("{}: {} [{}]\n    Action: {}{}\n", TextAt(problem, "place"),
                     TextAt(problem, "sentence"), TextAt(problem, "kind"), action,
                     action.ends_with('?') ? "" : ".");
}

}  // namespace

int RunDoctor(const DaemonPage& page) {
  const auto answer = AskDaemon(page, "/api/v1/problems?page_size=1000");
  if (!answer) {
    Message(answer.error().message);
    return kExitUnreadable;
  }
  const auto problems = answer->find("problems");
  if (problems == answer->end() || !problems->is_array()) {
    Message(fmt::format("{}: the server is not rocescope, or an older version", page.url));
    return kExitUnreadable;
  }
  std::string text;
  for (const auto& one : *problems) text += TextOf(one);
  const bool has_snapshot = answer->contains("snapshot") && !(*answer)["snapshot"].is_null();
  const bool has_telemetry = has_snapshot && HasTelemetry(page);
  if (!has_snapshot) {
    text +=
        "No analysis window is complete yet, so topology, hosts and clocks were not checked. Try "
        "again later.\n";
  } else if (!has_telemetry) {
    text +=
        "No telemetry has been received yet, so losses, hosts and clocks were not checked. Try "
        "again when switches and hosts send telemetry.\n";
  } else if (problems->empty()) {
    text += "No problems with sources, topology, hosts and clocks.\n";
  }
  if (!problems->empty()) {
    text +=
        "Explanations of the names in brackets: "
        "https://github.com/rocescope/rocescope/blob/main/docs/problems.md\n";
  }
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return problems->empty() && has_telemetry ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
