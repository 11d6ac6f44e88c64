// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/scrape/http_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <charconv>
#include <cstdint>
#include <set>
#include <type_traits>
#include <utility>

#include "appliance/common/access/tls_context.h"
#include "base/address.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ErrorOf = boost::system::error_code;

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// The value of the Host header.
std::string HostOf(const HttpUrl& url) {
  return url.host.find(':') == std::string::npos ? url.host : fmt::format("[{}]", url.host);
}

// The body of a request that is being received.
struct Body {
  size_t bytes = 0;
  std::function<void()> cancel;  // its memory is released soon afterwards
};

// The bodies of all pending requests.
class Bodies {
 public:
  explicit Bodies(size_t most_bytes) : most_bytes_(most_bytes) {}

  void Add(Body& body) { bodies_.insert(&body); }
  void Remove(Body& body) {
    bytes_ -= body.bytes;
    bodies_.erase(&body);
  }
  // Cancels the largest bodies while the sum exceeds the limit. `body` may be one of them.
  void Resize(Body& body, size_t bytes) {
    bytes_ += bytes - body.bytes;
    body.bytes = bytes;
    while (bytes_ > most_bytes_) {
      Body& largest = **std::ranges::max_element(bodies_, {}, &Body::bytes);
      bytes_ -= std::exchange(largest.bytes, 0);
      largest.cancel();
    }
  }
  size_t most_bytes() const { return most_bytes_; }

 private:
  const size_t most_bytes_;
  size_t bytes_ = 0;
  std::set<Body*> bodies_;
};

template <typename Stream>
class Fetch : public std::enable_shared_from_this<Fetch<Stream>> {
 public:
  Fetch(asio::io_context& context, Bodies& bodies, Stream stream, HttpUrl url,
        const HttpFetcher::Limits& limits, std::function<void(Result<std::string>)> then,
        HttpFetcher::Explain explain)
      : bodies_(bodies),
        url_(std::move(url)),
        then_(std::move(then)),
        explain_(std::move(explain)),
        resolver_(context),
        stream_(std::move(stream)) {
    lowest().expires_after(limits.timeout);
    parser_.body_limit(limits.most_bytes);
    parser_.header_limit(1u << 16);
    parser_.eager(true);
    body_.cancel = [this] {
      is_cancelled_ = true;
      lowest().close();
    };
    bodies_.Add(body_);
  }
  ~Fetch() { bodies_.Remove(body_); }
  Fetch(const Fetch&) = delete;
  Fetch& operator=(const Fetch&) = delete;

  void Begin() {
    resolver_.async_resolve(url_.host, url_.port,
                            [self = Self()](ErrorOf error, const auto& found) {
                              error ? self->Fail(error) : self->Connect(found);
                            });
  }

 private:
  auto Self() { return this->shared_from_this(); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  void Connect(const tcp::resolver::results_type& where) {
    lowest().async_connect(where, [self = Self()](ErrorOf error, const auto&) {
      error ? self->Fail(error) : self->ShakeHands();
    });
  }
  void ShakeHands() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      // Set SNI for host names, but not for addresses (RFC 6066, section 3).
      if (!ParseIpAddress(url_.host)) {
        SSL_set_tlsext_host_name(stream_.native_handle(), url_.host.c_str());
      }
      stream_.set_verify_callback(asio::ssl::host_name_verification(url_.host));
      stream_.async_handshake(asio::ssl::stream_base::client, [self = Self()](ErrorOf error) {
        error ? self->Fail(error) : self->Ask();
      });
    } else {
      Ask();
    }
  }
  void Ask() {
    request_.method(http::verb::get);
    request_.target(url_.target);
    request_.set(http::field::host, HostOf(url_));
    request_.set(http::field::user_agent, "rocescope");
    request_.set(http::field::accept, "text/plain;version=0.0.4");
    if (!url_.authorization.empty()) request_.set(http::field::authorization, url_.authorization);
    request_.keep_alive(false);
    http::async_write(stream_, request_, [self = Self()](ErrorOf error, size_t) {
      error ? self->Fail(error) : self->Hear();
    });
  }
  void Hear() {
    http::async_read_some(stream_, buffer_, parser_,
                          [self = Self()](ErrorOf error, size_t) { self->Take(error); });
  }
  void Take(ErrorOf error) {
    if (!error && !is_cancelled_) bodies_.Resize(body_, parser_.get().body().size());
    if (error || is_cancelled_) return Fail(error);
    parser_.is_done() ? Done() : Hear();
  }
  void Done() {
    if (parser_.get().result() != http::status::ok) {
      const std::string why = explain_ ? explain_(parser_.get().body()) : "";
      return then_(MakeError(ErrorCode::kUnavailable,
                             fmt::format("HTTP status {}{}{}", parser_.get().result_int(),
                                         why.empty() ? "" : ": ", why)));
    }
    then_(std::move(parser_.get().body()));
  }
  void Fail(ErrorOf error) {
    if (is_cancelled_) {
      return then_(MakeError(ErrorCode::kResourceExhausted,
                             fmt::format("the bodies of all pending responses exceed the limit of "
                                         "{} bytes, and this body is the largest",
                                         WithThousands(bodies_.most_bytes()))));
    }
    then_(MakeError(ErrorCode::kUnavailable, error == beast::error::timeout
                                                 ? "no response before the timeout"
                                                 : error.message()));
  }

  Bodies& bodies_;
  Body body_;
  bool is_cancelled_ = false;  // the body was too large for the limit of all bodies
  const HttpUrl url_;
  const std::function<void(Result<std::string>)> then_;
  const HttpFetcher::Explain explain_;
  tcp::resolver resolver_;
  Stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
};

}  // namespace

Result<HttpUrl> ParseHttpUrl(const std::string& text, UrlSchemes schemes) {
  const auto wrong = [&] {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("invalid URL \"{}\": expected a URL such as http://10.0.0.7:9400/metrics",
                    text));
  };
  HttpUrl url;
  url.has_tls = schemes == UrlSchemes::kHttpAndHttps && text.starts_with("https://");
  const std::string_view scheme = url.has_tls ? "https://" : "http://";
  if (!text.starts_with(scheme)) return wrong();
  std::string rest = text.substr(scheme.size());
  if (url.has_tls) url.port = "443";
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    url.target = rest.substr(slash);
    rest.resize(slash);
  }
  size_t colon = rest.rfind(':');
  // The colon is inside an IPv6 address.
  if (!rest.empty() && rest.back() == ']') colon = std::string::npos;
  if (colon != std::string::npos) {
    url.port = rest.substr(colon + 1);
    rest.resize(colon);
    if (url.port.empty() || url.port.find_first_not_of("0123456789") != std::string::npos) {
      return wrong();
    }
    // A resolver would use only the low 16 bits.
    uint16_t number = 0;
    const char* const end = url.port.data() + url.port.size();
    if (std::from_chars(url.port.data(), end, number).ec != std::errc{} || number == 0) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("invalid URL \"{}\": ports are from 1 to 65535", text));
    }
  }
  if (rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    rest = rest.substr(1, rest.size() - 2);
  } else if (rest.find(':') != std::string::npos) {
    return wrong();
  }
  constexpr std::string_view kNever = " \t\r\n\"<>[]@?#";
  if (rest.empty() || rest.find_first_of(kNever) != std::string::npos ||
      url.target.find_first_of(" \t\r\n#") != std::string::npos) {
    return wrong();
  }
  url.host = std::move(rest);
  return url;
}

struct HttpFetcher::Parts {
  explicit Parts(size_t most_bytes) : bodies(most_bytes) {}

  TlsContext tls;  // null: no TLS
  Bodies bodies;   // outlives the requests, which `context` owns
  asio::io_context context{1};
};

Result<HttpFetcher> HttpFetcher::WithTls(const TlsTexts& tls) {
  Result<TlsContext> context = ClientTls(tls);
  if (!context) return tl::unexpected(context.error());
  HttpFetcher fetcher;
  fetcher.parts_->tls = *std::move(context);
  return fetcher;
}

HttpFetcher::HttpFetcher(size_t most_bytes) : parts_(std::make_unique<Parts>(most_bytes)) {}
HttpFetcher::HttpFetcher(HttpFetcher&&) noexcept = default;
HttpFetcher::~HttpFetcher() = default;

void HttpFetcher::Get(const HttpUrl& url, const Limits& limits,
                      std::function<void(Result<std::string>)> then, Explain explain) {
  asio::io_context& context = parts_->context;
  if (!url.has_tls) {
    std::make_shared<Fetch<PlainStream>>(context, parts_->bodies, PlainStream(context), url, limits,
                                         std::move(then), std::move(explain))
        ->Begin();
  } else if (!parts_->tls) {
    then(MakeError(ErrorCode::kInvalidArgument, "https requires certificates"));
  } else {
    std::make_shared<Fetch<TlsStream>>(context, parts_->bodies, TlsStream(context, *parts_->tls),
                                       url, limits, std::move(then), std::move(explain))
        ->Begin();
  }
}

void HttpFetcher::Run(std::chrono::milliseconds most) {
  parts_->context.restart();
  parts_->context.run_for(most);
}

}  // namespace rocescope
