// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/box_page.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "appliance/report/visible_text.h"
#include "appliance/scrape/http_fetch.h"

namespace rocescope {

Result<nlohmann::json> AskBox(const std::string& page, std::string_view path) {
  constexpr std::chrono::seconds kPatience{5};
  Result<HttpUrl> url = ParseHttpUrl(page);
  if (!url) return tl::unexpected(url.error());
  url->target = path;
  Result<std::string> answer = MakeError(ErrorCode::kUnavailable, "no answer in time");
  HttpFetcher fetcher;
  fetcher.Get(*url, {.patience = kPatience},
              [&](Result<std::string> got) { answer = std::move(got); });
  fetcher.Run(kPatience + std::chrono::seconds(1));
  if (!answer) {
    return MakeError(answer.error().code, fmt::format("{}: {}", page, answer.error().message));
  }
  nlohmann::json object = nlohmann::json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: what answers there is no rocescope", page));
  }
  return object;
}

std::string TextAt(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? Visible(at->get<std::string>()) : "";
}

}  // namespace rocescope
