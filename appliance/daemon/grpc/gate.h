// SPDX-License-Identifier: BSD-3-Clause
// In front of each call: may this caller, and how the service's errors become gRPC's.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <string>
#include <vector>

#include "appliance/common/access/caller_roles.h"
#include "appliance/daemon/service/service_error.h"

namespace rocescope {

class Gate {
 public:
  // By a name that a certificate has (subject alternative names, else the common name). Callers of
  // a server without certificates may do everything.
  Gate(bool has_certificates, CallerRoles roles)
      : has_certificates_(has_certificates), roles_(std::move(roles)) {}

  grpc::Status Admit(const grpc::ServerContextBase& context, std::string_view method) const;

  bool has_certificates() const { return has_certificates_; }
  // Of the caller's certificate; none: the server has none itself.
  std::vector<std::string> NamesOf(const grpc::ServerContextBase& context) const;

  // With an ErrorInfo in the details, as google.rpc.Status has it, and a RetryInfo after it where
  // to ask again helps.
  static grpc::Status ToStatus(const ServiceError& error);

 private:
  const bool has_certificates_;
  const CallerRoles roles_;
};

}  // namespace rocescope
