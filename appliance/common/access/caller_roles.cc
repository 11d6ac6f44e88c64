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
  for (const auto& [role, names] : {std::pair(CallerRole::kViewer, &config.viewers),
                                    std::pair(CallerRole::kScheduler, &config.schedulers),
                                    std::pair(CallerRole::kOperator, &config.operators),
                                    std::pair(CallerRole::kAgent, &config.agents)}) {
    for (const std::string& name : *names) {
      by_name_[name] = static_cast<Roles>(by_name_[name] | rocescope::Of(role));
    }
  }
}

Roles CallerRoles::Of(const std::vector<std::string>& names) const {
  Roles roles = 0;
  for (const std::string& name : names) {
    for (const std::string& listed : {name, WithAnyFirstLabel(name)}) {
      const auto at = by_name_.find(listed);
      if (at != by_name_.end()) roles = static_cast<Roles>(roles | at->second);
    }
  }
  return roles;
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

}  // namespace rocescope
