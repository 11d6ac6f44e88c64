// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"

namespace rocescope {

int RunDoctor(const BoxPage& page) {
  const auto answer = AskBox(page, "/api/v1/doctor");
  if (!answer) {
    Message(answer.error().message);
    return kExitUnreadable;
  }
  const auto problems = answer->find("problems");
  if (problems == answer->end() || !problems->is_array()) {
    Message(fmt::format("{}: what answers there is no rocescope, or an older one", page.url));
    return kExitUnreadable;
  }
  std::string text;
  for (const auto& one : *problems) {
    const std::string recommended_action = TextAt(one, "recommended_action");
    text += fmt::format("{}: {}\n    Remedy: {}{}\n", TextAt(one, "place"), TextAt(one, "sentence"),
                        recommended_action, recommended_action.ends_with('?') ? "" : ".");
  }
  if (!answer->contains("age") || (*answer)["age"].is_null()) {
    text +=
        "No analysis window has ended yet: topology, hosts and clocks were not looked at. Ask "
        "again in a moment.\n";
  }
  if (problems->empty()) text += "Sources, topology, hosts and clocks: nothing to complain of.\n";
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return problems->empty() ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
