// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.1 server on its own thread. Connections, times and sizes are limited, and the requests of
// different clients take turns (fair_queue.h), so that a stalled or flooding client does not
// affect others.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/access/bearer_tokens.h"
#include "appliance/common/access/caller.h"
#include "appliance/common/access/tls_texts.h"
#include "appliance/daemon/http/http_message.h"
#include "base/address.h"
#include "base/result.h"

namespace rocescope {

struct HttpCounters {
  uint64_t accepted = 0;  // accepted connections
  // Connections and streams refused because of a limit, and idle connections closed in favour of
  // new ones.
  uint64_t refused = 0;
  uint64_t requests = 0;  // answered requests
  // Requests refused: invalid, too large, wrong Host header, or not authorised.
  uint64_t bad_requests = 0;
  // Connections that ended before the TLS handshake completed: missing certificate, certificate of
  // another authority, timeout, or no TLS.
  uint64_t bad_handshakes = 0;
  uint64_t streams = 0;     // started streams
  uint64_t broken_off = 0;  // connections closed because the client did not read in time
  uint32_t open = 0;        // current connections
  uint32_t streaming = 0;   // current streams
};

// Returns the client with these certificate names, or an error that says why it is not authorised.
using HttpGate = std::function<Result<Caller>(const std::vector<std::string>&)>;

class HttpServer {
 public:
  struct Options {
    IpAddress address;
    uint16_t port = 0;  // 0: chosen by the kernel
    // Maximum number of connections. For a new one, the connection that has been idle longest is
    // closed; if none is idle, the new one gets status 503.
    uint32_t connections = 256;
    // Maximum number of streams, so that they leave connections for requests. Further ones get
    // status 503.
    uint32_t streams = 128;
    // Time limit for receiving a request and for sending a response, in seconds. After it the
    // connection is closed.
    uint32_t timeout_seconds = 20;
    // Time limit for receiving the body of a request after its headers, in seconds. It also ends
    // with `timeout_seconds`, if that is shorter. Bodies are small (`max_body`).
    uint32_t body_timeout_seconds = 10;
    HttpRefuser refuse;  // null: plain text
    // Largest body of a POST request in bytes. 0: only GET and HEAD, without a body, are accepted.
    // POST requires a Content-Length. With an Origin header that is neither that of the Host header
    // nor one of `names`, it gets status 403: pages of other sites must not change anything.
    uint32_t max_body = 0;
    // Accepted host names in addition to IP addresses and "localhost".
    std::vector<std::string> names;
    // If set, clients must present a certificate within the time limit of a request. Clients that
    // `gate` rejects get status 403.
    TlsTexts tls;
    HttpGate gate;  // null: every client with a valid certificate may do everything
    // If not empty, a request without one of these tokens gets status 401.
    BearerTokens tokens;
    // Maximum number of connections from one address. For a further one, its connection that has
    // been idle longest is closed.
    uint32_t connections_a_peer = 128;
    // Maximum number of streams of one client: a certificate, a token, or an address without both.
    // Further ones get status 429.
    uint32_t streams_a_peer = 32;
  };

  // Binds the port. Connections are served after Start.
  static Result<std::unique_ptr<HttpServer>> Open(const Options& options, HttpHandler handler);
  ~HttpServer();

  void Start();
  // Closes all connections and ends the thread. May be called repeatedly.
  void Stop();

  // Uses other certificates for new connections. With revocation lists, it closes the open ones,
  // because their certificates may be revoked. Requires a server with TLS. On an error nothing
  // changes. Thread-safe after Start.
  Status SetTls(const TlsTexts& texts);

  uint16_t port() const;
  // Heartbeat: increases twice a second while the thread runs. Thread-safe.
  uint64_t beats() const;
  // Thread-safe.
  HttpCounters Counters() const;

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
