// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"

namespace rocescope {

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
  for (const auto& one : *problems) {
    const std::string recommended_action = TextAt(one, "recommended_action");
    text += fmt::format("{}: {}\n    Action: {}{}\n", TextAt(one, "place"), TextAt(one, "sentence"),
                        recommended_action, recommended_action.ends_with('?') ? "" : ".");
  }
  if (!answer->contains("snapshot") || (*answer)["snapshot"].is_null()) {
    text +=
        "No analysis window is complete yet, so topology, hosts and clocks were not checked. Try "
        "again later.\n";
  }
  if (problems->empty()) text += "No problems with sources, topology, hosts and clocks.\n";
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return problems->empty() ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
