// SPDX-License-Identifier: BSD-3-Clause
// gRPC server of service.proto, with health checks (grpc.health.v1) and reflection.
//
// On loopback, clients are not authenticated. Elsewhere, clients must present a certificate signed
// by `client_ca`. A name in it determines their role; appliance/common/access/role.h lists the
// calls of each role.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "appliance/common/access/tls_texts.h"
#include "appliance/common/config/config.h"
#include "appliance/daemon/grpc/call_limit_options.h"
#include "appliance/daemon/service/service.h"
#include "base/result.h"

namespace rocescope {

// Times after which the server closes a connection, and limits of calls and memory.
struct GrpcLimits {
  std::chrono::milliseconds handshake = std::chrono::seconds(10);  // incomplete TLS or HTTP/2
  std::chrono::milliseconds idle = std::chrono::minutes(1);        // no call
  CallLimitOptions calls;  // CallLimitOptions::max_bytes: default as `memory`
  // Bytes of connections, calls and incomplete requests, above which calls are reset. Default: an
  // eighth of the memory budget, at least 64 MiB.
  std::optional<size_t> memory;
};

class GrpcServer {
 public:
  // Starts the server. `service` must outlive it. A non-loopback address without TLS files in
  // `config` is an error.
  static Result<std::unique_ptr<GrpcServer>> Start(const GrpcConfig& config, const TlsTexts& tls,
                                                   Service& service, const GrpcLimits& limits = {});
  // Reads the TLS files, then starts the server.
  static Result<std::unique_ptr<GrpcServer>> Start(const GrpcConfig& config, Service& service,
                                                   const GrpcLimits& limits = {});
  ~GrpcServer();

  // Uses other certificates for new connections, and the revocation lists for new calls, new events
  // of open streams and new messages of agents. Requires a server with TLS. On an error nothing
  // changes.
  Status SetTls(const TlsTexts& tls);

  // Ends all calls, including streams. May be called repeatedly.
  void Stop();

  // Heartbeat of the thread that serves agents: increases at least once a second. Thread-safe.
  uint64_t beats() const;

  // Returns the addresses in the order of the configuration, with the ports that the kernel chose.
  const std::vector<ListenAddress>& listens() const;

 private:
  struct Parts;
  explicit GrpcServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
