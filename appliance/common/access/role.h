// SPDX-License-Identifier: BSD-3-Clause
// Authorisation table: one row for each call of service.proto and agent.proto.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rocescope {

enum class CallerRole : uint8_t { kViewer, kScheduler, kOperator, kAgent, kCount };
inline constexpr std::array<std::string_view, static_cast<size_t>(CallerRole::kCount)> kRoleNames =
    {"viewer", "scheduler", "operator", "agent"};

// A set of roles.
using Roles = uint8_t;
constexpr Roles Of(CallerRole role) {
  return static_cast<Roles>(1u << static_cast<unsigned>(role));
}
inline constexpr Roles kReaders =
    Of(CallerRole::kViewer) | Of(CallerRole::kScheduler) | Of(CallerRole::kOperator);
inline constexpr Roles kPlacers = Of(CallerRole::kScheduler) | Of(CallerRole::kOperator);
inline constexpr Roles kAllRoles = kReaders | Of(CallerRole::kAgent);
inline constexpr Roles kReporters = Of(CallerRole::kAgent) | Of(CallerRole::kOperator);

struct CallRoles {
  std::string_view method;  // "/rocescope.v1.Jobs/GetJob"
  Roles roles = 0;
};

inline constexpr std::array kCallRoles = {
    CallRoles{"/rocescope.v1.Appliance/GetHealth", kAllRoles},
    CallRoles{"/rocescope.v1.Appliance/ListSources", kReaders},
    CallRoles{"/rocescope.v1.Appliance/Doctor", kReaders},
    CallRoles{"/rocescope.v1.Appliance/WatchEvents", kReaders},
    CallRoles{"/rocescope.v1.Jobs/ListJobs", kReaders},
    CallRoles{"/rocescope.v1.Jobs/GetJob", kReaders},
    CallRoles{"/rocescope.v1.Jobs/RegisterJob", kPlacers},
    CallRoles{"/rocescope.v1.Jobs/EndJob", kPlacers},
    CallRoles{"/rocescope.v1.Jobs/ListRegisteredJobs", kReaders},
    CallRoles{"/rocescope.v1.Fabric/GetTopology", kReaders},
    CallRoles{"/rocescope.v1.Fabric/ListLinkLoads", kReaders},
    CallRoles{"/rocescope.v1.Fabric/FindPaths", kReaders},
    CallRoles{"/rocescope.v1.Fabric/ListHotspots", kReaders},
    CallRoles{"/rocescope.v1.Fabric/ListNodeSwitches", kReaders},
    CallRoles{"/rocescope.v1.Fabric/RankNodes", kReaders},
    CallRoles{"/rocescope.v1.Diagnosis/ListFindings", kReaders},
    CallRoles{"/rocescope.v1.Diagnosis/ListAnomalies", kReaders},
    CallRoles{"/rocescope.v1.Diagnosis/GetServiceLevels", kReaders},
    CallRoles{"/rocescope.v1.Diagnosis/GetDependencies", kReaders},
    CallRoles{"/rocescope.v1.History/ListPastEvents", kReaders},
    CallRoles{"/rocescope.v1.History/GetLinkHistory", kReaders},
    CallRoles{"/rocescope.v1.History/GetJobHistory", kReaders},
    CallRoles{"/rocescope.v1.Agents/Report", kReporters},
};

// Returns nullopt if the method has no row: nobody may call it.
constexpr std::optional<Roles> RolesOf(std::string_view method) {
  for (const CallRoles& row : kCallRoles) {
    if (row.method == method) return row.roles;
  }
  return std::nullopt;
}

}  // namespace rocescope
