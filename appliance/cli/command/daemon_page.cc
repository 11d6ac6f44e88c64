// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/daemon_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "appliance/common/config/listen_address.h"
#include "appliance/common/files/text_file.h"
#include "appliance/common/report/visible_text.h"
#include "appliance/common/scrape/http_fetch.h"

namespace rocescope {

namespace {

Result<HttpFetcher> FetcherOf(const HttpUrl& url, const DaemonPage& page) {
  const TlsConfig files = {.certificate = page.certificate, .key = page.key, .client_ca = page.ca};
  const bool all = !page.ca.empty() && !page.certificate.empty() && !page.key.empty();
  if (url.has_tls ? !all : files.IsThere()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: https requires --ca, --cert and --key; http accepts none of them",
                    page.url));
  }
  if (!url.has_tls) return HttpFetcher();
  const Result<TlsTexts> texts = ReadTls(files, "");
  if (!texts) return tl::unexpected(texts.error());
  return HttpFetcher::WithTls(*texts);
}

// The message of an error of the HTTP API.
std::string ErrorMessage(std::string_view body) {
  constexpr size_t kLongestMessage = 1000;  // the server may be another program
  const nlohmann::json object = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || !object.contains("error")) return "";
  return WithShortQuotes(TextAt(object["error"], "message").substr(0, kLongestMessage));
}

}  // namespace

Result<std::string> ReadPage(const DaemonPage& page, std::string_view path, size_t most_bytes) {
  constexpr std::chrono::seconds kTimeout{5};
  Result<HttpUrl> url = ParseHttpUrl(page.url, UrlSchemes::kHttpAndHttps);
  if (!url) return tl::unexpected(url.error());
  url->target = path;
  if (!page.token_file.empty()) {
    if (!url->has_tls && !IsThisHost(url->host)) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: a token is sent only over https, or to this host", page.url));
    }
    constexpr uintmax_t kLongest = 4096;
    const Result<std::string> token = ReadTextFile(page.token_file, kLongest);
    if (!token) return tl::unexpected(token.error());
    const std::string text = token->substr(0, token->find_first_of(" \t\r\n"));
    if (text.empty() || !std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; })) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: expected a token in the first line", page.token_file));
    }
    url->authorization = "Bearer " + text;
  }
  Result<HttpFetcher> fetcher = FetcherOf(*url, page);
  if (!fetcher) return tl::unexpected(fetcher.error());
  Result<std::string> answer = MakeError(ErrorCode::kUnavailable, "timed out");
  fetcher->Get(
      *url, {.timeout = kTimeout, .most_bytes = most_bytes},
      [&](Result<std::string> got) { answer = std::move(got); }, ErrorMessage);
  fetcher->Run(kTimeout + std::chrono::seconds(1));
  if (!answer) {
    return MakeError(answer.error().code, fmt::format("{}: {}", page.url, answer.error().message));
  }
  return answer;
}

Result<nlohmann::json> AskDaemon(const DaemonPage& page, std::string_view path) {
  const Result<std::string> answer = ReadPage(page, path);
  if (!answer) return tl::unexpected(answer.error());
  nlohmann::json object = nlohmann::json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the server is not rocescope", page.url));
  }
  return object;
}

std::string TextAt(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? Visible(at->get<std::string>()) : "";
}

}  // namespace rocescope
