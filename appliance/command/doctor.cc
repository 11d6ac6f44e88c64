// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/doctor.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"

namespace rocescope {

int RunDoctor(const BoxPage& page) {
  const auto answer = AskBox(page, "/api/v1/check-up");
  if (!answer) {
    Message(answer.error().message);
    return kExitUnreadable;
  }
  const auto complaints = answer->find("complaints");
  if (complaints == answer->end() || !complaints->is_array()) {
    Message(fmt::format("{}: what answers there is no rocescope, or an older one", page.url));
    return kExitUnreadable;
  }
  std::string text;
  for (const auto& one : *complaints) {
    const std::string remedy = TextAt(one, "remedy");
    text += fmt::format("{}: {}\n    Remedy: {}{}\n", TextAt(one, "place"), TextAt(one, "sentence"),
                        remedy, remedy.ends_with('?') ? "" : ".");
  }
  if (!answer->contains("age") || (*answer)["age"].is_null()) {
    text +=
        "No analysis window has ended yet: topology, hosts and clocks were not looked at. Ask "
        "again in a moment.\n";
  }
  if (complaints->empty()) text += "Sources, topology, hosts and clocks: nothing to complain of.\n";
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return complaints->empty() ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
