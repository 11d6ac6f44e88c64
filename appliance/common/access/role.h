// SPDX-License-Identifier: BSD-3-Clause
// Authorisation table: one row for each call of service.proto and agent.proto, from the option
// `call` of the call.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

enum class CallerRole : uint8_t { kViewer, kScheduler, kOperator, kAgent, kTenant, kCount };
inline constexpr std::array<std::string_view, static_cast<size_t>(CallerRole::kCount)> kRoleNames =
    {"viewer", "scheduler", "operator", "agent", "tenant"};

// A set of roles.
using Roles = uint8_t;
constexpr Roles Of(CallerRole role) {
  return static_cast<Roles>(1u << static_cast<unsigned>(role));
}
inline constexpr Roles kAllRoles =
    static_cast<Roles>((1u << static_cast<unsigned>(CallerRole::kCount)) - 1);
// The values of Access in call_options.proto.
inline constexpr Roles kReadAccess =
    Of(CallerRole::kViewer) | Of(CallerRole::kScheduler) | Of(CallerRole::kOperator);
inline constexpr Roles kOperateAccess = Of(CallerRole::kOperator);
inline constexpr Roles kRegisterAccess = Of(CallerRole::kScheduler) | Of(CallerRole::kOperator);
inline constexpr Roles kTenantAccess = kReadAccess | Of(CallerRole::kTenant);
inline constexpr Roles kAnyAccess = kTenantAccess | Of(CallerRole::kAgent);
inline constexpr Roles kReportAccess = Of(CallerRole::kAgent) | Of(CallerRole::kOperator);

struct CallRoles {
  std::string_view method;  // "/rocescope.v1.Jobs/GetJob"
  Roles roles = 0;
};

inline constexpr std::array kCallRoles = {
#define ROCESCOPE_CALL(service, name, request, response, path, access) \
  CallRoles{"/rocescope.v1." #service "/" #name, access},
#define ROCESCOPE_STREAM ROCESCOPE_CALL
#include "rocescope/v1/calls.inc"
};

// Returns nullopt for an unknown method; no client may call it.
constexpr std::optional<Roles> RolesOf(std::string_view method) {
  for (const CallRoles& row : kCallRoles) {
    if (row.method == method) return row.roles;
  }
  return std::nullopt;
}

}  // namespace rocescope
