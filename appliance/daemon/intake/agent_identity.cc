// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace rocescope {
namespace {

// Lower case, without the final dot of an absolute name.
std::string Canonical(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

bool IsWithoutDomain(const std::string& host, const std::string& name,
                     const std::vector<std::string>& domains) {
  return std::ranges::any_of(domains, [&](const std::string& domain) {
    return name == fmt::format("{}.{}", host, Canonical(domain));
  });
}

}  // namespace

std::optional<std::string> AccountOf(const std::vector<std::string>& names,
                                     const AgentsConfig& config) {
  const auto is_any = [&](const std::string& name) {
    return std::ranges::find(config.any_host, name) != config.any_host.end();
  };
  if (std::ranges::any_of(names, is_any)) return std::nullopt;
  return fmt::format("certificate {}", fmt::join(names, ","));
}

std::optional<AgentIdentity> IdentifyAgent(std::string_view host,
                                           const std::vector<std::string>& names,
                                           const AgentsConfig& config) {
  const std::string claimed = Canonical(host);
  if (claimed.empty()) return std::nullopt;
  const std::optional<std::string> account = AccountOf(names, config);
  if (!account) return AnyAgent(host);
  for (const std::string& one : names) {
    const std::string name = Canonical(one);
    if (claimed == name || IsWithoutDomain(claimed, name, config.domains)) {
      return AgentIdentity{.host = name, .account = *account};
    }
  }
  return std::nullopt;
}

bool IsSameName(std::string_view host, std::string_view node, const AgentsConfig& config) {
  const std::string a = Canonical(host);
  const std::string b = Canonical(node);
  return a == b || IsWithoutDomain(a, b, config.domains) || IsWithoutDomain(b, a, config.domains);
}

AgentIdentity AnyAgent(std::string_view host) {
  const std::string name = Canonical(host);
  return {.host = name, .account = fmt::format("host {}", name)};
}

}  // namespace rocescope
