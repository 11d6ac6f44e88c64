// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/http_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
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
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>

#include "appliance/common/access/tls_context.h"
#include "appliance/common/config/listen_address.h"
#include "appliance/common/process/step_back.h"
#include "appliance/daemon/http/fair_queue.h"
#include "appliance/daemon/http/host_name.h"
#include "base/thread_name.h"

namespace rocescope {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ErrorOf = boost::system::error_code;

constexpr uint32_t kMaxHeader = 8192;  // bytes
constexpr auto kStreamPace = std::chrono::milliseconds(200);
// Connections over the limit that receive status 503 before they are closed, of all peers and of
// one peer, and their time limit.
constexpr uint32_t kMaxRejected = 32;
constexpr uint32_t kMaxRejectedAPeer = 4;
constexpr auto kRejectTimeout = std::chrono::seconds(2);
constexpr auto kFarewell = std::chrono::seconds(2);
// Unsent bytes of responses to a peer, above which its other requests wait.
constexpr uint64_t kMaxUnsentAPeer = uint64_t{16} << 20;
// Interval of keep-alive comments on an idle stream.
constexpr auto kStreamSign = std::chrono::seconds(15);

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

std::string Field(const http::request<http::string_body>& request, http::field field) {
  const auto value = request[field];
  return {value.data(), value.size()};
}

// Returns whether the error concerns the connection rather than the content of a request.
bool IsOfConnection(const ErrorOf& error) {
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

asio::ip::address AddressOf(const IpAddress& address) {
  ErrorOf ignored;
  return asio::ip::make_address(ToString(address), ignored);
}

}  // namespace

struct HttpServer::Parts {
  // Waiting requests own their connections, whose timers must not outlive the context.
  ~Parts() { shared.queue.Clear(); }

  Shared shared;
  TlsContext tls;  // null: no TLS
  asio::io_context context{1};
  tcp::acceptor acceptor{context};
  asio::steady_timer pause{context};
  asio::steady_timer beat{context};
  std::atomic<uint64_t> beats = 0;
  uint16_t port = 0;
  std::vector<std::weak_ptr<Connection>> sessions;
  std::thread thread;
  bool stopping = false;
  bool will_handle = false;  // HandleNext is posted

  // Handles one request at a time, so that the thread serves sockets between requests.
  void HandleNext() {
    if (stopping || will_handle) return;
    will_handle = true;
    asio::post(context, [this] {
      will_handle = false;
      const std::function<void()> handle = stopping ? nullptr : shared.queue.Next();
      if (!handle) return;
      handle();
      HandleNext();
    });
  }

  void Accept() {
    acceptor.async_accept([this](ErrorOf error, tcp::socket socket) {
      if (stopping) return;
      if (error) return AcceptLater();  // for example too many open files
      ++shared.counts.accepted;
      Take(std::move(socket));
      Accept();
    });
  }

  void Beat() {
    ++beats;
    beat.expires_after(std::chrono::milliseconds(500));
    beat.async_wait([this](ErrorOf error) {
      if (!error && !stopping) Beat();
    });
  }

  void AcceptLater() {
    pause.expires_after(std::chrono::milliseconds(100));
    pause.async_wait([this](ErrorOf error) {
      if (!error && !stopping) Accept();
    });
  }

  void Take(tcp::socket socket) {
    std::erase_if(sessions, [](const auto& session) { return session.expired(); });
    ErrorOf ignored;
    const asio::ip::address peer = socket.remote_endpoint(ignored).address();
    const Options& options = shared.options;
    const Number own = NumberOf(&peer);
    const Number all = NumberOf(nullptr);
    const bool is_greedy = own.served >= options.connections_a_peer;
    const bool is_over_limit = is_greedy
                                   ? !CloseAnIdleOne(&peer)
                                   : all.served >= options.connections && !CloseAnIdleOne(nullptr);
    if (is_over_limit && (all.rejected >= kMaxRejected || own.rejected >= kMaxRejectedAPeer)) {
      ++shared.counts.refused;
      return;  // closes the socket
    }
    tls ? Take(TlsStream(std::move(socket), *tls), is_over_limit)
        : Take(PlainStream(std::move(socket)), is_over_limit);
  }

  template <typename Stream>
  void Take(Stream stream, bool is_over_limit) {
    const auto session =
        std::make_shared<Session<Stream>>(std::move(stream), shared, is_over_limit);
    sessions.push_back(session);
    session->Begin();
  }

  // Numbers of connections.
  struct Number {
    uint32_t served = 0;
    uint32_t rejected = 0;
  };

  // Counts the connections of all peers if `peer` is null.
  Number NumberOf(const asio::ip::address* peer) const {
    Number number;
    for (const auto& weak : sessions) {
      const auto session = weak.lock();
      if (!session || (peer != nullptr && session->address() != *peer)) continue;
      ++(session->is_over_limit() ? number.rejected : number.served);
    }
    return number;
  }

  // Closes the connection that has been idle longest, of this peer only unless it is null, so that
  // idle connections do not lock out others. Returns false if none is idle.
  bool CloseAnIdleOne(const asio::ip::address* peer) {
    auto longest = sessions.end();
    std::chrono::steady_clock::time_point since;
    for (auto at = sessions.begin(); at != sessions.end(); ++at) {
      const auto session = at->lock();
      if (!session || !session->idle_since()) continue;
      if (peer != nullptr && session->address() != *peer) continue;
      if (longest != sessions.end() && *session->idle_since() >= since) continue;
      longest = at;
      since = *session->idle_since();
    }
    if (longest == sessions.end()) return false;
    longest->lock()->Close();
    sessions.erase(longest);
    ++shared.counts.refused;
    return true;
  }

  void End() {
    stopping = true;
    ErrorOf ignored;
    acceptor.close(ignored);
    pause.cancel();
    beat.cancel();
    shared.queue.Clear();
    CloseAll();
  }

  void CloseAll() {
    for (const auto& weak : sessions) {
      if (const auto session = weak.lock()) session->Close();
    }
  }
};

Result<std::unique_ptr<HttpServer>> HttpServer::Open(const Options& options, HttpHandler handler) {
  auto parts = std::make_unique<Parts>();
  parts->shared.options = options;
  parts->shared.handler = std::move(handler);
  parts->shared.wake = [parts = parts.get()] { parts->HandleNext(); };
  if (!options.tls.IsThere() && !IsLoopback(options.address)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("HTTP: {} is not a loopback address and requires TLS certificates "
                                 "(key `http` of the configuration)",
                                 ToString(options.address)));
  }
  if (options.tls.IsThere()) {
    Result<TlsContext> tls = ServerTls(options.tls);
    if (!tls) {
      return MakeError(tls.error().code, fmt::format("HTTP: {} (key `http` of the configuration)",
                                                     tls.error().message));
    }
    parts->tls = *std::move(tls);
  }
  const tcp::endpoint where(AddressOf(options.address), options.port);
  ErrorOf error;
  parts->acceptor.open(where.protocol(), error);
  if (!error) parts->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) parts->acceptor.bind(where, error);
  if (!error) parts->acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("cannot listen for HTTP on port {} of {}: {}; check that no other "
                                 "program uses the port (key `http` of the configuration)",
                                 options.port, ToString(options.address), error.message()));
  }
  parts->port = parts->acceptor.local_endpoint().port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

HttpServer::~HttpServer() { Stop(); }

void HttpServer::Start() {
  parts_->Accept();
  parts_->Beat();
  parts_->thread = std::thread([parts = parts_.get()] {
    NameThread("http");
    StepAside();
    parts->context.run();
  });
}

void HttpServer::Stop() {
  if (!parts_->thread.joinable()) return;
  asio::post(parts_->context, [parts = parts_.get()] { parts->End(); });
  parts_->thread.join();
}

Status HttpServer::SetTls(const TlsTexts& texts) {
  Result<TlsContext> tls = ServerTls(texts);
  if (!tls) return tl::unexpected(tls.error());
  asio::post(parts_->context,
             [parts = parts_.get(), tls = *std::move(tls), closes = !texts.crl.empty()] {
               parts->tls = tls;
               if (closes) parts->CloseAll();
             });
  return {};
}

uint16_t HttpServer::port() const { return parts_->port; }

uint64_t HttpServer::beats() const { return parts_->beats; }

HttpCounters HttpServer::Counters() const {
  const Counts& counts = parts_->shared.counts;
  return {.accepted = counts.accepted,
          .refused = counts.refused,
          .requests = counts.requests,
          .bad_requests = counts.bad_requests,
          .bad_handshakes = counts.bad_handshakes,
          .streams = counts.streams,
          .broken_off = counts.broken_off,
          .open = counts.open,
          .streaming = counts.streaming};
}

}  // namespace rocescope
