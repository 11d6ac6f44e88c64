// SPDX-License-Identifier: BSD-3-Clause
// The calls of service.proto over gRPC, with health (grpc.health.v1) and reflection.
//
// On loopback nobody is asked who they are. Anywhere else callers show a certificate of
// `client_ca`, and a name in it says which role they have; what each role may call is in
// appliance/common/access/role.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/access/tls_texts.h"
#include "appliance/common/config/config.h"
#include "appliance/daemon/service/service.h"
#include "base/result.h"

namespace rocescope {

class GrpcServer {
 public:
  // Listens and answers at once. `service` must outlive it. An address that is not of loopback
  // without the files of `config` is an error.
  static Result<std::unique_ptr<GrpcServer>> Start(const GrpcConfig& config, const TlsTexts& tls,
                                                   Service& service);
  // Reads the files itself.
  static Result<std::unique_ptr<GrpcServer>> Start(const GrpcConfig& config, Service& service);
  ~GrpcServer();

  // Ends all calls, streams too. Again is nothing.
  void Stop();

  // Of the thread that serves agents: grows at least once a second while it goes on. Any thread.
  uint64_t beats() const;

  // In the order of the configuration, with the ports that the kernel chose.
  const std::vector<ListenAddress>& listens() const;

 private:
  struct Parts;
  explicit GrpcServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
