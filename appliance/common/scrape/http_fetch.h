// SPDX-License-Identifier: BSD-3-Clause
// An HTTP/1.1 client for many concurrent GET requests on one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "appliance/common/access/tls_texts.h"
#include "base/result.h"

namespace rocescope {

// "http://HOST[:PORT][/PATH]".
struct HttpUrl {
  std::string host;
  std::string port = "80";
  std::string target = "/";
  bool has_tls = false;
  std::string authorization;  // value of the header; empty: not sent
};
// Exporters rarely use TLS; appliances may.
enum class UrlSchemes : uint8_t { kHttp, kHttpAndHttps };
Result<HttpUrl> ParseHttpUrl(const std::string& text, UrlSchemes schemes = UrlSchemes::kHttp);

class HttpFetcher {
 public:
  static constexpr size_t kLargestBody = size_t{64} << 20;
  struct Limits {
    std::chrono::milliseconds timeout{5000};  // for the complete request
    size_t most_bytes = kLargestBody;         // maximum size of a body in bytes
  };
  // Returns the explanation in the body of a response whose status is not 200; empty: there is
  // none.
  using Explain = std::function<std::string(std::string_view body)>;

  // For https URLs: authenticates with these certificates, and accepts only servers whose
  // certificate is signed by `peer_ca` and names the URL's host. The error names the invalid
  // certificate.
  static Result<HttpFetcher> WithTls(const TlsTexts& tls);
  // `most_bytes`: maximum size in bytes of the bodies of all pending requests together. While they
  // exceed it, the request with the largest body fails with kResourceExhausted: servers that
  // withhold the ends of large bodies do not make the small bodies of others fail.
  explicit HttpFetcher(size_t most_bytes = kLargestBody);
  HttpFetcher(HttpFetcher&&) noexcept;
  ~HttpFetcher();

  // Calls `then` once from Run, with the body of a 200 response or an error.
  void Get(const HttpUrl& url, const Limits& limits, std::function<void(Result<std::string>)> then,
           Explain explain = nullptr);

  // Processes pending requests until all are done, for at most this long.
  void Run(std::chrono::milliseconds most);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
