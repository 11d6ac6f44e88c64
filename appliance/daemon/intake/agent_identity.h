// SPDX-License-Identifier: BSD-3-Clause
// Identity of an agent, from the host that it claims and the names in its certificate.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/config/config.h"

namespace rocescope {

struct AgentIdentity {
  // Key of the host's state, in lower case. All names that one name of a certificate covers have
  // the same key, so that a certificate cannot occupy more places than it has names.
  std::string host;
  // Limits of rate, queue and stored logs apply to all connections with the same account: a
  // certificate, or a host if the certificate may report for any host.
  std::string account;
};

// The account of a certificate with these names. Returns nullopt if one of them is in `any_host`:
// then each host has an account of its own.
std::optional<std::string> AccountOf(const std::vector<std::string>& names,
                                     const AgentsConfig& config);

// Returns nullopt if a certificate with these names must not report for `host`. It may report for
// a host that it names exactly, or that is a name without one of the `domains` of the
// configuration: "gpu-7" for "gpu-7.gpu.example" with the domain "gpu.example". Case and a final
// dot are ignored (RFC 4343, RFC 1034).
std::optional<AgentIdentity> IdentifyAgent(std::string_view host,
                                           const std::vector<std::string>& names,
                                           const AgentsConfig& config);

// Whether a host and a node of the topology have the same name, or differ in one of the `domains`
// of the configuration only.
bool IsSameName(std::string_view host, std::string_view node, const AgentsConfig& config);

// For clients without certificates, which may report for any host.
AgentIdentity AnyAgent(std::string_view host);

}  // namespace rocescope
