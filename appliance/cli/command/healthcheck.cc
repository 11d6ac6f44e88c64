// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/healthcheck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/output.h"
#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"STATE_SERVING", "STATE_WAITING",
                                                     "STATE_DEGRADED"};

}  // namespace

int RunHealthcheck(const DaemonPage& page) {
  const auto health = AskDaemon(page, "/api/v1/health");
  if (!health) {
    Message(health.error().message);
    return kExitUnreadable;
  }
  const std::string state = TextAt(*health, "state");
  // The answer may come from another program: do not print it to a terminal.
  if (std::ranges::find(kStates, state) == kStates.end()) {
    Message(fmt::format("{}: the server is not rocescope", page.url));
    return kExitUnreadable;
  }
  std::string text = fmt::format("{}\n", state.substr(state.find('_') + 1));
  for (const char* const list : {"problems", "external_problems"}) {
    for (const auto& problem : health->value(list, nlohmann::json::array())) {
      if (problem.is_string()) text += fmt::format("{}\n", Visible(problem.get<std::string>()));
    }
  }
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return state == "STATE_SERVING" || state == "STATE_WAITING" ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
