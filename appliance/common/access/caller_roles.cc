// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/access/caller_roles.h"

#include <fmt/format.h>

#include <utility>

#include "appliance/common/config/listen_address.h"

namespace rocescope {
namespace {

// Returns the wildcard of a host name: "*.gpu.example" for "node7.gpu.example". Returns an empty
// string for a name with one label and for other names (an e-mail address may end with a host
// name).
std::string WithAnyFirstLabel(const std::string& name) {
  if (!IsHostName(name)) return "";
  const size_t dot = name.find('.');
  return dot == std::string::npos || dot == 0 ? "" : "*" + name.substr(dot);
}

}  // namespace

CallerRoles::CallerRoles(const GrpcConfig& config) {
  const auto grant = [this](const std::string& name, CallerRole role) -> Grant& {
    Grant& granted = by_name_[name];
    granted.roles = static_cast<Roles>(granted.roles | rocescope::Of(role));
    return granted;
  };
  for (const auto& [role, names] : {std::pair(CallerRole::kViewer, &config.viewers),
                                    std::pair(CallerRole::kScheduler, &config.schedulers),
                                    std::pair(CallerRole::kOperator, &config.operators),
                                    std::pair(CallerRole::kAgent, &config.agents)}) {
    for (const std::string& name : *names) grant(name, role);
  }
  for (const TenantConfig& tenant : config.tenants) {
    grant(tenant.name, CallerRole::kTenant).users.insert(tenant.users.begin(), tenant.users.end());
  }
}

const CallerRoles::Grant* CallerRoles::Find(const std::string& listed) const {
  const auto at = by_name_.find(listed);
  return listed.empty() || at == by_name_.end() ? nullptr : &at->second;
}

Roles CallerRoles::Of(const std::vector<std::string>& names) const {
  Roles roles = 0;
  for (const std::string& name : names) {
    for (const std::string& listed : {name, WithAnyFirstLabel(name)}) {
      const Grant* const granted = Find(listed);
      if (granted != nullptr) roles = static_cast<Roles>(roles | granted->roles);
    }
  }
  return roles;
}

Caller CallerRoles::CallerOf(const std::vector<std::string>& names) const {
  Caller caller;
  for (const std::string& name : names) {
    for (const std::string& listed : {name, WithAnyFirstLabel(name)}) {
      const Grant* const granted = Find(listed);
      if (granted == nullptr) continue;
      if (caller.roles == 0) caller.name = name;
      caller.roles = static_cast<Roles>(caller.roles | granted->roles);
      caller.users.insert(granted->users.begin(), granted->users.end());
    }
  }
  if (caller.roles == 0 && !names.empty()) caller.name = names.front();
  return caller;
}

std::string WhyNotAllowed(const std::vector<std::string>& names, std::string_view do_what) {
  std::string who;
  for (const std::string& name : names) {
    who += fmt::format("{}\"{}\"", who.empty() ? "" : ", ", name);
  }
  if (who.empty()) {
    who =
        "a client whose certificate has no name of an accepted type (DNS, URI, e-mail or IP "
        "address in the subject alternative names, or a common name if there are none)";
  }
  return fmt::format(
      "{} may not {}: roles are assigned by the key `grpc` in the configuration of the appliance",
      who, do_what);
}

std::string WhyNotAllowed(const Caller& caller, std::string_view do_what) {
  if (!caller.Has(CallerRole::kTenant)) {
    return WhyNotAllowed(
        caller.name.empty() ? std::vector<std::string>() : std::vector{caller.name}, do_what);
  }
  return fmt::format(
      "\"{}\" may not {}: clients with the role tenant may only read data of their own jobs (the "
      "keys `grpc.tenants` and `http.tokens` in the configuration of the appliance)",
      caller.name, do_what);
}

}  // namespace rocescope
