// SPDX-License-Identifier: BSD-3-Clause
// GETs over HTTP/1.1, many at a time on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "appliance/common/access/tls_texts.h"
#include "base/result.h"

namespace rocescope {

// "http://HOST[:PORT][/PATH]".
struct HttpUrl {
  std::string host;
  std::string port = "80";
  std::string target = "/";
  bool has_tls = false;
};
// Exporters seldom have TLS; boxes may.
enum class UrlSchemes : uint8_t { kHttp, kHttpAndHttps };
Result<HttpUrl> ParseHttpUrl(const std::string& text, UrlSchemes schemes = UrlSchemes::kHttp);

class HttpFetcher {
 public:
  struct Limits {
    std::chrono::milliseconds patience{5000};  // for all of it
    size_t most_bytes = size_t{64} << 20;     // of a body
  };

  // Of URLs with TLS: shows these certificates, and lets nobody else answer than who has one of
  // `peer_ca` with the URL's host in it. The error says which of them cannot be used.
  static Result<HttpFetcher> WithTls(const TlsTexts& tls);
  HttpFetcher();
  HttpFetcher(HttpFetcher&&) noexcept;
  ~HttpFetcher();

  // Calls `then`, once, from Run: with the body of an answer 200, or with the error.
  void Get(const HttpUrl& url, const Limits& limits, std::function<void(Result<std::string>)> then);

  // Goes on with what is under way, for so long or until all is done.
  void Run(std::chrono::milliseconds most);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
