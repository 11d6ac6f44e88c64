// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/scrape/http_fetch.h"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

namespace rocescope {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ErrorOf = boost::system::error_code;

class Fetch : public std::enable_shared_from_this<Fetch> {
 public:
  Fetch(asio::io_context& context, HttpUrl url, const HttpFetcher::Limits& limits,
        std::function<void(Result<std::string>)> then)
      : url_(std::move(url)), then_(std::move(then)), resolver_(context), stream_(context) {
    stream_.expires_after(limits.patience);
    parser_.body_limit(limits.most_octets);
    parser_.header_limit(1u << 16);
  }

  void Begin() {
    resolver_.async_resolve(url_.host, url_.port,
                            [self = shared_from_this()](ErrorOf error, const auto& found) {
                              error ? self->Fail(error) : self->Connect(found);
                            });
  }

 private:
  void Connect(const tcp::resolver::results_type& where) {
    stream_.async_connect(where, [self = shared_from_this()](ErrorOf error, const auto&) {
      error ? self->Fail(error) : self->Ask();
    });
  }
  void Ask() {
    request_.method(http::verb::get);
    request_.target(url_.target);
    request_.set(http::field::host, url_.host);
    request_.set(http::field::user_agent, "rocescope");
    request_.set(http::field::accept, "text/plain;version=0.0.4");
    request_.keep_alive(false);
    http::async_write(stream_, request_, [self = shared_from_this()](ErrorOf error, size_t) {
      error ? self->Fail(error) : self->Hear();
    });
  }
  void Hear() {
    http::async_read(stream_, buffer_, parser_, [self = shared_from_this()](ErrorOf error, size_t) {
      error ? self->Fail(error) : self->Done();
    });
  }
  void Done() {
    if (parser_.get().result() != http::status::ok) {
      return then_(MakeError(ErrorCode::kUnavailable,
                             fmt::format("HTTP status {}", parser_.get().result_int())));
    }
    then_(std::move(parser_.get().body()));
  }
  void Fail(ErrorOf error) {
    then_(MakeError(ErrorCode::kUnavailable,
                    error == beast::error::timeout ? "no answer in time" : error.message()));
  }

  const HttpUrl url_;
  const std::function<void(Result<std::string>)> then_;
  tcp::resolver resolver_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::empty_body> request_;
  http::response_parser<http::string_body> parser_;
};

}  // namespace

Result<HttpUrl> ParseHttpUrl(const std::string& text) {
  const auto wrong = [&] {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("\"{}\" is not a URL such as http://10.0.0.7:9400/metrics", text));
  };
  constexpr std::string_view kScheme = "http://";
  if (!text.starts_with(kScheme)) return wrong();
  std::string rest = text.substr(kScheme.size());
  HttpUrl url;
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    url.target = rest.substr(slash);
    rest.resize(slash);
  }
  size_t colon = rest.rfind(':');
  if (!rest.empty() && rest.back() == ']') colon = std::string::npos;  // of an IPv6 address
  if (colon != std::string::npos) {
    url.port = rest.substr(colon + 1);
    rest.resize(colon);
    if (url.port.empty() || url.port.find_first_not_of("0123456789") != std::string::npos) {
      return wrong();
    }
    // A resolver takes the number's last 16 bits.
    uint16_t number = 0;
    const char* const end = url.port.data() + url.port.size();
    if (std::from_chars(url.port.data(), end, number).ec != std::errc{} || number == 0) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("\"{}\": ports are from 1 to 65535", text));
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
  asio::io_context context{1};
};

HttpFetcher::HttpFetcher() : parts_(std::make_unique<Parts>()) {}
HttpFetcher::~HttpFetcher() = default;

void HttpFetcher::Get(const HttpUrl& url, const Limits& limits,
                      std::function<void(Result<std::string>)> then) {
  std::make_shared<Fetch>(parts_->context, url, limits, std::move(then))->Begin();
}

void HttpFetcher::Run(std::chrono::milliseconds most) {
  parts_->context.restart();
  parts_->context.run_for(most);
}

}  // namespace rocescope
