// SPDX-License-Identifier: BSD-3-Clause
// Authorisation of each call, and conversion of service errors to gRPC.
#pragma once

#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <vector>

#include "appliance/common/access/caller.h"
#include "appliance/common/access/caller_roles.h"
#include "appliance/common/access/revocations.h"
#include "appliance/daemon/grpc/call_limits.h"
#include "appliance/daemon/service/service_error.h"

namespace rocescope {

class Gate {
 public:
  // Roles follow from the names in the certificate of the client (certificate_name.h). Without
  // certificates, clients may call everything.
  Gate(bool has_certificates, CallerRoles roles)
      : has_certificates_(has_certificates),
        roles_(std::move(roles)),
        revoked_(std::make_shared<CurrentRevocations>()) {}

  // Refuses revoked certificates from now on; null: none is revoked. Thread-safe.
  void SetRevocations(std::shared_ptr<const Revocations> lists) const {
    revoked_->Set(std::move(lists));
  }

  // Returns an error if no role of the client permits it to call the method.
  grpc::Status Admit(const grpc::ServerContextBase& context, std::string_view method) const;

  // The lists with which the certificate of an open stream was checked last.
  using Checked = std::shared_ptr<const Revocations>;
  // Checks the certificate of an open stream again if the lists have changed.
  grpc::Status CheckAgain(const grpc::ServerContextBase& context, Checked& checked) const;

  // Checks each call of all services, including those of gRPC itself (health, reflection), which
  // Admit does not see, when its header fields arrive. Refuses calls above the limits. With
  // certificates, it also refuses revoked certificates, clients without any role, and agents that
  // call methods of other roles. `limits` must outlive the server.
  std::shared_ptr<grpc::AuthMetadataProcessor> RoleCheck(CallLimits& limits) const;

  bool has_certificates() const { return has_certificates_; }
  // Returns the names in the certificate of the client; empty if the server has no certificates.
  std::vector<std::string> NamesOf(const grpc::ServerContextBase& context) const;
  // Returns the client; LocalCaller() if the server has no certificates.
  Caller CallerOf(const grpc::ServerContextBase& context) const;
  // Returns the names in the certificate of the client, or its address without certificates. It
  // identifies the client for limits.
  std::string PeerOf(const grpc::ServerContextBase& context) const;

  // Converts an error to a status with an ErrorInfo in its details, in the format of
  // google.rpc.Status, and a RetryInfo if a retry can succeed.
  static grpc::Status ToStatus(const ServiceError& error);

 private:
  const bool has_certificates_;
  const CallerRoles roles_;
  const std::shared_ptr<CurrentRevocations> revoked_;
};

}  // namespace rocescope
