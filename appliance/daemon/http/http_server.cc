// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/http_server.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <thread>

#include "appliance/common/access/tls_context.h"
#include "appliance/common/config/listen_address.h"
#include "appliance/common/process/step_back.h"
#include "appliance/daemon/http/http_session.h"
#include "base/thread_name.h"

namespace rocescope {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using http_session::Connection;
using http_session::Counts;
using http_session::ErrorOf;
using http_session::PlainStream;
using http_session::Session;
using http_session::Shared;
using http_session::TlsStream;

// Maximum number of connections over the limit that receive status 503 before they are closed, of
// all peers and of one peer.
constexpr uint32_t kMaxRejected = 32;
constexpr uint32_t kMaxRejectedAPeer = 4;

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
