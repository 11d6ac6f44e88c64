// SPDX-License-Identifier: BSD-3-Clause
// One connection of HttpServer: reads requests, calls the handler and writes responses. Include
// this header in http_server.cc only, because Beast takes many seconds to compile.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/stream_traits.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "appliance/common/access/tls_context.h"
#include "appliance/daemon/http/fair_queue.h"
#include "appliance/daemon/http/host_name.h"
#include "appliance/daemon/http/http_server.h"

namespace rocescope::http_session {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ErrorOf = boost::system::error_code;

inline constexpr uint32_t kMaxHeader = 8192;  // bytes
inline constexpr auto kStreamPace = std::chrono::milliseconds(200);
// Time limit of connections over the limit, which only receive status 503.
inline constexpr auto kRejectTimeout = std::chrono::seconds(2);
inline constexpr auto kFarewell = std::chrono::seconds(2);
// Unsent bytes of responses to a peer, above which its other requests wait.
inline constexpr uint64_t kMaxUnsentAPeer = uint64_t{16} << 20;
// Interval of keep-alive comments on an idle stream.
inline constexpr auto kStreamSign = std::chrono::seconds(15);

struct Counts {
  std::atomic<uint64_t> accepted, refused, requests, bad_requests, bad_handshakes, streams,
      broken_off;
  std::atomic<uint32_t> open, streaming;
};

// What all connections use; used only by the server's thread, except for the counts.
struct Shared {
  HttpServer::Options options;
  HttpHandler handler;
  Counts counts{};
  FairQueue queue{kMaxUnsentAPeer};
  std::map<std::string, uint32_t> streams_of;  // current streams, by peer
  std::function<void()> wake;                  // after a change of `queue`
};

inline std::string Field(const http::request<http::string_body>& request, http::field field) {
  const auto value = request[field];
  return {value.data(), value.size()};
}

// Returns whether the error concerns the connection rather than the content of a request.
inline bool IsOfConnection(const ErrorOf& error) {
  static const auto& of_http = make_error_code(http::error::bad_method).category();
  return error && (error.category() != of_http || error == http::error::end_of_stream);
}

using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;

// Interface of a connection, independent of TLS.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void Begin() = 0;
  virtual void Close() = 0;
  // Time since which the client has sent no complete request; nullopt while a response is in
  // progress.
  std::optional<std::chrono::steady_clock::time_point> idle_since() const { return idle_since_; }
  const asio::ip::address& address() const { return address_; }
  // The connection is over the limit and only receives status 503.
  bool is_over_limit() const { return is_over_limit_; }

 protected:
  explicit Connection(bool is_over_limit) : is_over_limit_(is_over_limit) {}

  const bool is_over_limit_;
  asio::ip::address address_;  // unspecified if the client has closed the connection already
  std::optional<std::chrono::steady_clock::time_point> idle_since_;
};

// A connection. All functions run on the server's thread.
template <typename Stream>
class Session final : public Connection, public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, Shared& shared, bool is_over_limit)
      : Connection(is_over_limit),
        stream_(std::move(stream)),
        timer_(stream_.get_executor()),
        shared_(shared),
        counts_(shared.counts),
        options_(shared.options),
        timeout_(is_over_limit ? kRejectTimeout : std::chrono::seconds(options_.timeout_seconds)) {
    ErrorOf ignored;
    address_ = lowest().socket().remote_endpoint(ignored).address();
    peer_ = address_.to_string();
    ++counts_.open;
  }
  ~Session() override {
    --counts_.open;
    SetUnsent(0);
    if (is_streaming_) EndStream();
  }

  void Begin() override {
    if constexpr (kHasTls) {
      Wait(timeout_);
      stream_.async_handshake(asio::ssl::stream_base::server,
                              [self = Self()](ErrorOf error) { self->OnHandshake(error); });
    } else {
      Read();
    }
  }

  void Close() override {
    ErrorOf ignored;
    idle_since_.reset();
    timer_.cancel();
    lowest().socket().close(ignored);
  }

 private:
  static constexpr bool kHasTls = std::is_same_v<Stream, TlsStream>;

  auto Self() { return this->shared_from_this(); }
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(stream_); }

  // Starts the time limit for data from the client.
  void Wait(std::chrono::seconds limit) {
    lowest().expires_after(limit);
    if (!is_over_limit_) idle_since_ = std::chrono::steady_clock::now();
  }

  void OnHandshake(ErrorOf error) {
    if (error) {
      if (error != asio::error::operation_aborted) ++counts_.bad_handshakes;
      return Close();
    }
    if constexpr (kHasTls) {
      const std::vector<std::string> names = NamesOfPeer(*stream_.native_handle());
      if (!names.empty()) caller_.name = names.front();
      if (options_.gate) {
        Result<Caller> caller = options_.gate(names);
        if (caller) caller_ = *std::move(caller);
        if (!caller) why_not_ = std::move(caller.error().message);
      }
      if (!names.empty()) peer_ = fmt::format("certificate {}", fmt::join(names, ","));
    }
    Read();
  }

  void Read() {
    parser_.emplace();
    parser_->header_limit(kMaxHeader);
    parser_->body_limit(options_.max_body);
    Wait(timeout_);
    http::async_read_header(stream_, buffer_, *parser_,
                            [self = Self()](ErrorOf error, size_t) { self->OnHeader(error); });
  }

  // Refuses the request or reads its body.
  void OnHeader(ErrorOf error) {
    idle_since_.reset();
    if (error == http::error::end_of_stream) return Finish();
    if (IsOfConnection(error)) return Close();
    const http::request<http::string_body>& request = parser_->get();
    is_head_ = request.method() == http::verb::head;
    const bool is_post = request.method() == http::verb::post && options_.max_body > 0;
    if (error == http::error::body_limit) return RefuseBody();
    if (error == http::error::header_limit || error == http::error::buffer_overflow) {
      return HasRequestLine()
                 ? Refuse(431, fmt::format("the request headers exceed {} bytes", kMaxHeader))
                 : Refuse(414, fmt::format("the request target exceeds {} bytes", kMaxHeader));
    }
    if (error) return Refuse(400, fmt::format("malformed HTTP request: {}", error.message()));
    keep_alive_ = request.keep_alive();
    version_ = request.version();
    // The end of a body with another coding is unknown (RFC 9112, 6.1), so the connection is
    // closed.
    for (const auto& field : request) {
      if (field.name() == http::field::transfer_encoding &&
          !beast::iequals(field.value(), "chunked"))
        return Refuse(400, "unsupported Transfer-Encoding: use a Content-Length");
    }
    if (is_over_limit_) return Reject("open connections");
    if (!why_not_.empty()) return Refuse(403, why_not_);
    if (request.count(http::field::host) > 1)
      return Refuse(400, "malformed HTTP request: more than one Host header");
    // RFC 9112, 3.2.
    if (request.version() >= 11 && request.count(http::field::host) == 0)
      return Refuse(400, "malformed HTTP request: HTTP/1.1 requires a Host header");
    if (!IsOwnHost(Field(request, http::field::host), options_.names)) {
      return Refuse(421,
                    "unrecognised Host header: use an IP address or localhost, or add the name to "
                    "the key `http.names` of the configuration");
    }
    const bool has_length = parser_->content_length().has_value();
    if (is_post) {
      const std::string origin = Field(request, http::field::origin);
      if (!origin.empty() &&
          !IsOwnOrigin(origin, Field(request, http::field::host), options_.names)) {
        return Refuse(
            403,
            "the Origin header names another site; open the dashboard at its own address, or add "
            "the host name to the key `http.names` of the configuration");
      }
      if (!has_length) return Refuse(411, "POST requires a Content-Length header");
      if (request.count(http::field::expect) > 0)
        return Refuse(417, "the Expect header is not supported: send the body at once");
    } else if (has_length && *parser_->content_length() > 0) {
      return RefuseBody();
    }
    if (!options_.tokens.empty()) {
      const BearerTokens::Token* const token =
          options_.tokens.Find(Field(request, http::field::authorization));
      if (token == nullptr) {
        return Refuse(401,
                      "a token is required: `Authorization: Bearer TOKEN` (key `http.tokens`)");
      }
      caller_ = token->caller;
      peer_ = fmt::format("token {}", token->index);
    }
    // Chunks of other methods than POST must be empty.
    if (!is_post) parser_->body_limit(0);
    if (parser_->is_done()) return OnBody({});
    Wait(std::min(timeout_, std::chrono::seconds(options_.body_timeout_seconds)));
    http::async_read(stream_, buffer_, *parser_,
                     [self = Self()](ErrorOf failed, size_t) { self->OnBody(failed); });
  }

  void OnBody(ErrorOf error) {
    idle_since_.reset();
    if (IsOfConnection(error)) return Close();
    if (error == http::error::body_limit) return RefuseBody();
    if (error) return Refuse(400, fmt::format("malformed HTTP request: {}", error.message()));
    // A handler takes time on the only thread. Without turns, a peer with pipelined requests on all
    // its connections would delay the requests of others by one handler call for each connection.
    is_waiting_ = true;
    timer_.expires_after(timeout_);
    timer_.async_wait([self = Self()](ErrorOf cancelled) {
      if (cancelled || !self->is_waiting_) return;
      ++self->counts_.broken_off;
      self->Close();
    });
    shared_.queue.Add(peer_, [self = Self()] { self->Handle(); });
    shared_.wake();
  }

  void Handle() {
    is_waiting_ = false;
    timer_.cancel();
    if (!lowest().socket().is_open()) return;  // closed in the meantime
    const http::request<http::string_body>& request = parser_->get();
    const auto text = [](auto view) { return std::string(view.data(), view.size()); };
    response_ = shared_.handler({.method = is_head_ ? "GET" : text(request.method_string()),
                                 .target = text(request.target()),
                                 .if_none_match = Field(request, http::field::if_none_match),
                                 .last_event_id = text(request["Last-Event-ID"]),
                                 .accept_encoding = Field(request, http::field::accept_encoding),
                                 .content_type = Field(request, http::field::content_type),
                                 .body = request.body(),
                                 .caller = caller_});
    const bool streams = response_.stream && !is_head_;
    if (streams && counts_.streaming >= options_.streams) return Reject("open streams");
    if (streams && StreamsOfPeer() >= options_.streams_a_peer) {
      ++counts_.refused;
      MakeRefusal(429, "maximum number of open streams of one client reached: close one of them");
      return Write();
    }
    ++counts_.requests;
    streams ? BeginStream() : Write();
  }

  // Returns whether the client has sent the whole request line, which precedes the headers.
  bool HasRequestLine() const {
    const auto data = buffer_.data();
    const std::string_view text(static_cast<const char*>(data.data()), data.size());
    return !parser_->get().target().empty() || text.find("\r\n") != std::string_view::npos;
  }

  uint32_t StreamsOfPeer() const {
    const auto at = shared_.streams_of.find(peer_);
    return at == shared_.streams_of.end() ? 0 : at->second;
  }

  void RefuseBody() {
    const auto& request = parser_->get();
    if (is_head_ || request.method() == http::verb::get)
      return Refuse(413, "GET and HEAD requests must not have a body");
    if (request.method() == http::verb::post && options_.max_body > 0)
      return Refuse(413, fmt::format("the body exceeds {} bytes", options_.max_body));
    const auto method = request.method_string();
    Refuse(405, fmt::format("method {} is not supported; use {}",
                            std::string_view(method.data(), method.size()), Methods()));
  }

  std::string_view Methods() const {
    return options_.max_body > 0 ? "GET, HEAD or POST" : "GET or HEAD";
  }

  void Refuse(unsigned status, std::string why) {
    ++counts_.bad_requests;
    MakeRefusal(status, std::move(why));
    Write();
  }

  void Reject(std::string_view what) {
    ++counts_.refused;
    MakeRefusal(503, fmt::format("maximum number of {} reached: try again later", what));
    response_.headers.emplace_back("Retry-After", "10");
    Write();
  }

  void MakeRefusal(unsigned status, std::string why) {
    const auto target = parser_->get().target();
    const auto method = parser_->get().method_string();
    const HttpRefusal refusal = {.status = status,
                                 .method = {method.data(), method.size()},
                                 .target = {target.data(), target.size()},
                                 .why = std::move(why)};
    response_ = options_.refuse
                    ? options_.refuse(refusal)
                    : HttpResponse{.content_type = "text/plain", .body = refusal.why + "\n"};
    response_.status = status;
    if (status == 405) {
      response_.headers.emplace_back("Allow",
                                     options_.max_body > 0 ? "GET, HEAD, POST" : "GET, HEAD");
    }
    if (status == 401) response_.headers.emplace_back("WWW-Authenticate", "Bearer");
    keep_alive_ = false;
  }

  template <typename Message>
  void SetHeaders(Message& message) const {
    message.set(http::field::content_type, response_.content_type);
    message.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : response_.headers) message.set(name, value);
  }

  void Write() {
    message_.emplace(http::int_to_status(response_.status), version_);
    message_->result(response_.status);
    SetHeaders(*message_);
    // A stream has no length and ends with the connection; HEAD gets only its header.
    const bool is_endless = response_.stream != nullptr;
    if (is_endless) keep_alive_ = false;
    message_->keep_alive(keep_alive_);
    const size_t length = response_.body.size();
    // The response to HEAD is that to GET without the body (RFC 9110, 9.3.2).
    if (!is_head_) message_->body() = std::move(response_.body);
    if (!is_endless) message_->content_length(length);
    SetUnsent(message_->body().size());
    serializer_.emplace(*message_);
    serializer_->split(is_head_);
    lowest().expires_after(timeout_);
    auto then = [self = Self()](ErrorOf error, size_t) { self->OnWritten(error); };
    if (is_head_) return http::async_write_header(stream_, *serializer_, std::move(then));
    http::async_write(stream_, *serializer_, std::move(then));
  }

  // Size of the response that is being sent.
  void SetUnsent(uint64_t bytes) {
    if (unsent_ != 0) shared_.queue.Sent(peer_, unsent_);
    if (bytes != 0) shared_.queue.Sending(peer_, bytes);
    if (bytes < unsent_) shared_.wake();
    unsent_ = bytes;
  }

  void OnWritten(ErrorOf error) {
    SetUnsent(0);
    if (error == beast::error::timeout) ++counts_.broken_off;
    if (error) return Close();
    keep_alive_ ? Read() : Finish();
  }

  // A stream has no Content-Length and ends with the connection, which HTTP/1.0 supports too.
  void BeginStream() {
    ++counts_.streams;
    ++counts_.streaming;
    ++shared_.streams_of[peer_];
    is_streaming_ = true;
    http::response<http::empty_body> head(http::int_to_status(response_.status), version_);
    SetHeaders(head);
    head.keep_alive(false);
    piece_ = HeaderOf(head) + std::move(response_.body);
    WritePiece();
  }

  void EndStream() {
    --counts_.streaming;
    if (--shared_.streams_of[peer_] == 0) shared_.streams_of.erase(peer_);
  }

  static std::string HeaderOf(const http::response<http::empty_body>& head) {
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.result_int(),
                                   std::string(head.reason().data(), head.reason().size()));
    for (const auto& field : head) {
      text += fmt::format("{}: {}\r\n",
                          std::string(field.name_string().data(), field.name_string().size()),
                          std::string(field.value().data(), field.value().size()));
    }
    return text + "\r\n";
  }

  void WritePiece() {
    written_at_ = std::chrono::steady_clock::now();
    lowest().expires_after(timeout_);
    asio::async_write(stream_, asio::buffer(piece_), [self = Self()](ErrorOf error, size_t) {
      if (error == beast::error::timeout) ++self->counts_.broken_off;
      if (error) return self->Close();
      self->lowest().expires_never();
      self->WaitForPiece();
    });
  }

  void WaitForPiece() {
    timer_.expires_after(kStreamPace);
    timer_.async_wait([self = Self()](ErrorOf error) {
      if (error) return;
      self->piece_ = self->response_.stream();
      const auto silent = std::chrono::steady_clock::now() - self->written_at_;
      if (self->piece_.empty() && silent >= kStreamSign) self->piece_ = ": alive\n\n";
      self->piece_.empty() ? self->WaitForPiece() : self->WritePiece();
    });
  }

  // Closes the connection after the last response. Over TLS a close_notify is sent, so that
  // truncation is detectable.
  void Finish() {
    if constexpr (kHasTls) {
      lowest().expires_after(kFarewell);
      stream_.async_shutdown([self = Self()](ErrorOf) { self->Shutdown(); });
    } else {
      Shutdown();
    }
  }

  void Shutdown() {
    ErrorOf ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    Close();
  }

  Stream stream_;
  asio::steady_timer timer_;
  Shared& shared_;
  Counts& counts_;
  const HttpServer::Options& options_;
  const std::chrono::seconds timeout_;
  beast::flat_buffer buffer_{kMaxHeader};
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpResponse response_;
  std::optional<http::response<http::string_body>> message_;
  std::optional<http::response_serializer<http::string_body>> serializer_;
  // The names in the certificate, else the token, else the address.
  std::string peer_;
  uint64_t unsent_ = 0;      // size of the response that is being sent, in bytes
  bool is_waiting_ = false;  // the request waits for its client's turn
  std::string why_not_;      // reason for status 403; empty: authorised
  Caller caller_ = LocalCaller();
  std::string piece_;
  std::chrono::steady_clock::time_point written_at_;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool is_head_ = false;
  bool is_streaming_ = false;
};

}  // namespace rocescope::http_session
