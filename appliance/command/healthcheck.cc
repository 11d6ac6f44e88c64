// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/healthcheck.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"
#include "appliance/command/output.h"
#include "appliance/report/visible_text.h"
#include "appliance/scrape/http_fetch.h"

namespace rocescope {
namespace {

constexpr std::chrono::seconds kPatience{5};

Result<std::string> Ask(const std::string& page) {
  Result<HttpUrl> url = ParseHttpUrl(page);
  if (!url) return tl::unexpected(url.error());
  url->target = "/api/v1/health";
  Result<std::string> answer = MakeError(ErrorCode::kUnavailable, "no answer in time");
  HttpFetcher fetcher;
  fetcher.Get(*url, {.patience = kPatience},
              [&](Result<std::string> got) { answer = std::move(got); });
  fetcher.Run(kPatience + std::chrono::seconds(1));
  if (!answer) answer.error().message = fmt::format("{}: {}", page, answer.error().message);
  return answer;
}

}  // namespace

int RunHealthcheck(const std::string& page) {
  const Result<std::string> answer = Ask(page);
  if (!answer) {
    Message(answer.error().message);
    return kExitUnreadable;
  }
  const auto health = nlohmann::json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!health.is_object() || !health.contains("state") || !health["state"].is_string()) {
    Message(fmt::format("{}: what answers there is no rocescope", page));
    return kExitUnreadable;
  }
  const std::string state = health["state"].get<std::string>();
  std::string text = fmt::format("{}\n", Visible(state.substr(state.find('_') + 1)));
  for (const auto& problem : health.value("problems", nlohmann::json::array())) {
    if (problem.is_string()) text += fmt::format("{}\n", Visible(problem.get<std::string>()));
  }
  if (WriteToStdout(text) == OutputState::kFailed) return kExitOutput;
  return state == "STATE_SERVING" || state == "STATE_WAITING" ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
