// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appliance/common/access/certificate_name.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/error_details.pb.h"

namespace rocescope {
namespace {

std::vector<std::string> NamesInCertificate(const grpc::AuthContext* peer) {
  std::vector<std::string> names;
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return names;
  const auto add = [&](const char* property, CertificateNameType type) {
    for (const auto& value : peer->FindPropertyValues(property)) {
      std::string name = ConfiguredName(type, {value.data(), value.size()});
      if (!name.empty()) names.push_back(std::move(name));
    }
  };
  // The common name is ignored if other names exist (RFC 6125, 6.4.4).
  if (peer->FindPropertyValues(GRPC_X509_SAN_PROPERTY_NAME).empty()) {
    add(GRPC_X509_CN_PROPERTY_NAME, CertificateNameType::kDns);
  } else {
    add(GRPC_PEER_DNS_PROPERTY_NAME, CertificateNameType::kDns);
    add(GRPC_PEER_URI_PROPERTY_NAME, CertificateNameType::kUri);
    add(GRPC_PEER_EMAIL_PROPERTY_NAME, CertificateNameType::kEmail);
    add(GRPC_PEER_IP_PROPERTY_NAME, CertificateNameType::kIp);
  }
  return names;
}

std::string ClientOf(const std::vector<std::string>& names) {
  return names.empty() ? "(no name)" : fmt::format("{}", fmt::join(names, ","));
}

// Checks the client's certificate, and the others of its chain.
grpc::Status CheckRevoked(const grpc::AuthContext* peer, const Revocations* lists) {
  if (lists == nullptr) return grpc::Status::OK;
  bool is_revoked =
      peer == nullptr || peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME).empty();
  for (const char* const property :
       {GRPC_X509_PEM_CERT_PROPERTY_NAME, GRPC_X509_PEM_CERT_CHAIN_PROPERTY_NAME}) {
    if (is_revoked) break;
    for (const auto& pem : peer->FindPropertyValues(property)) {
      is_revoked = is_revoked || lists->ContainPem({pem.data(), pem.size()});
    }
  }
  if (!is_revoked) return grpc::Status::OK;
  return Gate::ToStatus(
      {.fault = ServiceFault::kNotAllowed, .message = "the certificate of the client is revoked"});
}

template <typename Detail>
void AddDetail(std::string_view type, const Detail& detail, v1::RpcStatus& status) {
  v1::PackedDetail& packed = *status.add_details();
  packed.set_type_url(fmt::format("type.googleapis.com/google.rpc.{}", type));
  packed.set_value(detail.SerializeAsString());
}

}  // namespace

std::vector<std::string> Gate::NamesOf(const grpc::ServerContextBase& context) const {
  return has_certificates_ ? NamesInCertificate(context.auth_context().get())
                           : std::vector<std::string>{};
}

std::string Gate::PeerOf(const grpc::ServerContextBase& context) const {
  if (has_certificates_) return ClientOf(NamesOf(context));
  const std::string peer = context.peer();  // "ipv4:127.0.0.1:4711"
  return peer.substr(0, peer.rfind(':'));
}

grpc::Status Gate::CheckAgain(const grpc::ServerContextBase& context, Checked& checked) const {
  Checked lists = revoked_->Get();
  if (lists == checked) return grpc::Status::OK;
  checked = std::move(lists);
  return CheckRevoked(context.auth_context().get(), checked.get());
}

grpc::Status Gate::Admit(const grpc::ServerContextBase& context, std::string_view method) const {
  if (!has_certificates_) return grpc::Status::OK;
  const std::vector<std::string> names = NamesOf(context);
  if ((roles_.Of(names) & RolesOf(method).value_or(0)) != 0) return grpc::Status::OK;
  const Caller caller = roles_.CallerOf(names);
  const std::string what = fmt::format("call {}", method);
  return ToStatus({.fault = ServiceFault::kNotAllowed,
                   .message = caller.Has(CallerRole::kTenant) ? WhyNotAllowed(caller, what)
                                                              : WhyNotAllowed(names, what)});
}

Caller Gate::CallerOf(const grpc::ServerContextBase& context) const {
  return has_certificates_ ? roles_.CallerOf(NamesOf(context)) : LocalCaller();
}

std::shared_ptr<grpc::AuthMetadataProcessor> Gate::RoleCheck(CallLimits& limits) const {
  // Runs on the thread of the connection for each call, before the call is dispatched.
  class Check final : public grpc::AuthMetadataProcessor {
   public:
    Check(bool has_certificates, CallerRoles roles,
          std::shared_ptr<const CurrentRevocations> revoked, CallLimits& limits)
        : has_certificates_(has_certificates),
          roles_(std::move(roles)),
          revoked_(std::move(revoked)),
          limits_(limits) {}
    bool IsBlocking() const override { return false; }
    grpc::Status Process(const InputMetadata& fields, grpc::AuthContext* peer, OutputMetadata*,
                         OutputMetadata*) override {
      const std::vector<std::string> names =
          has_certificates_ ? NamesInCertificate(peer) : std::vector<std::string>();
      const std::string client = has_certificates_ ? ClientOf(names) : "";
      std::string reason = limits_.Admit(client);
      if (reason.empty()) {
        grpc::Status permitted =
            has_certificates_ ? CheckCaller(names, *peer, fields) : grpc::Status::OK;
        if (!permitted.ok()) return permitted;
        reason = limits_.Wait(client);
      }
      if (reason.empty()) return grpc::Status::OK;
      return ToStatus({.fault = ServiceFault::kTooMany, .message = reason});
    }

   private:
    grpc::Status CheckCaller(const std::vector<std::string>& names, const grpc::AuthContext& peer,
                             const InputMetadata& fields) const {
      grpc::Status checked = CheckRevoked(&peer, revoked_->Get().get());
      if (!checked.ok()) return checked;
      const Roles roles = roles_.Of(names);
      if (roles == 0) {
        return ToStatus({.fault = ServiceFault::kNotAllowed,
                         .message = WhyNotAllowed(names, "use this server")});
      }
      // Agents, of which there are many, are refused before gRPC reads the request. Gate::Admit
      // refuses other clients later, because a status that is returned here has no details.
      const auto path = fields.find(":path");
      if (roles != ::rocescope::Of(CallerRole::kAgent) || path == fields.end()) {
        return grpc::Status::OK;
      }
      const std::string method(path->second.data(), path->second.size());
      const std::optional<Roles> callers = RolesOf(method);  // unset: a method of gRPC itself
      if (!callers || (roles & *callers) != 0) return grpc::Status::OK;
      return ToStatus({.fault = ServiceFault::kNotAllowed,
                       .message = WhyNotAllowed(names, fmt::format("call {}", method))});
    }

    const bool has_certificates_;
    const CallerRoles roles_;
    const std::shared_ptr<const CurrentRevocations> revoked_;
    CallLimits& limits_;
  };
  return std::make_shared<Check>(has_certificates_, roles_, revoked_, limits);
}

grpc::Status Gate::ToStatus(const ServiceError& error) {
  // Errors are sent in headers, whose size is limited, so long quotations are shortened.
  const std::string message = WithShortQuotes(error.message);
  const ServiceFaultInfo& info = InfoOf(error.fault);
  v1::ErrorInfo details;
  details.set_reason(std::string(info.reason));
  details.set_domain(std::string(kErrorDomain));
  v1::RpcStatus status;
  status.set_code(info.grpc_number);
  status.set_message(message);
  AddDetail("ErrorInfo", details, status);
  if (!error.violations.empty()) {
    v1::BadRequest request;
    for (const FieldViolation& violation : error.violations) {
      v1::FieldViolation& to = *request.add_field_violations();
      to.set_field(WithShortQuotes(violation.field));
      to.set_description(WithShortQuotes(violation.description));
    }
    AddDetail("BadRequest", request, status);
  }
  if (IsOverSoon(error.fault)) {
    v1::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(kRetryAfterSeconds);
    AddDetail("RetryInfo", retry, status);
  }
  return {static_cast<grpc::StatusCode>(info.grpc_number), message, status.SerializeAsString()};
}

}  // namespace rocescope
