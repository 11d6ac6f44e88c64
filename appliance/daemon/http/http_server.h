// SPDX-License-Identifier: BSD-3-Clause
// HTTP/1.1 on a thread of its own: bounded connections, times and sizes, so that whoever stalls or
// floods it costs nobody else anything.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/access/tls_texts.h"
#include "appliance/daemon/http/http_message.h"
#include "base/address.h"
#include "base/result.h"

namespace rocescope {

struct HttpCounters {
  uint64_t accepted = 0;  // connections
  // Connections and streams, as there were too many, and those that were idle and made room.
  uint64_t refused = 0;
  uint64_t requests = 0;  // answered
  // Not HTTP, too large, for another host, or of somebody who may not.
  uint64_t bad_requests = 0;
  // Connections that ended before both sides knew who the other is: a certificate that is missing
  // or another authority's, silence, or no TLS at all.
  uint64_t bad_handshakes = 0;
  uint64_t streams = 0;     // begun
  uint64_t broken_off = 0;  // peers that took nothing for too long
  uint32_t open = 0;        // connections now
  uint32_t streaming = 0;   // of these
};

// Of the names in a caller's certificate: why they may ask for nothing here. Empty: they may.
using HttpGate = std::function<std::string(const std::vector<std::string>&)>;

class HttpServer {
 public:
  struct Options {
    IpAddress address;
    uint16_t port = 0;  // 0: the kernel chooses one
    // At most at a time. For one more the one that has been idle for longest is closed; where none
    // is idle, it gets status 503.
    uint32_t connections = 256;
    // Of these, so that streams, which last, leave room for requests. Others get status 503.
    uint32_t streams = 64;
    // A request must be here, and an answer taken, after so long; then the connection ends.
    uint32_t patience_seconds = 20;
    HttpRefuser refuse;  // null: plain text
    // By which the host is asked for, beside its addresses and "localhost".
    std::vector<std::string> names;
    // Where it is there: who connects shows a certificate, has to do it in the same time as a
    // request, and gets status 403 where `gate` says why.
    TlsTexts tls;
    HttpGate gate;  // null: all may who have a certificate
  };

  // Listens; answers from Start on.
  static Result<std::unique_ptr<HttpServer>> Open(const Options& options, HttpHandler handler);
  ~HttpServer();

  void Start();
  // Ends all connections and the thread. Again is nothing.
  void Stop();

  uint16_t port() const;
  // Any thread: grows twice a second while the server goes on.
  uint64_t beats() const;
  // Any thread.
  HttpCounters Counters() const;

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
