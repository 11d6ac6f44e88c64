// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/config/config_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "appliance/common/config/listen_address.h"
#include "appliance/common/config/quoted_yaml.h"
#include "appliance/common/config/tls_config.h"

namespace rocescope {
namespace {

using topology::YamlErrors;
using topology::YamlMap;
using topology::YamlNode;

// Each socket needs an address of its own. Port 0 may be repeated: the system chooses each port.
void CheckListens(const UdpConfig& config, const YamlMap& map, YamlErrors& errors) {
  std::vector<ListenAddress> all;
  for (const auto& [key, addresses] :
       {std::pair("int", &config.int_reports), std::pair("sflow", &config.sflow)}) {
    const YamlNode* const node = map.Find(key);
    if (node == nullptr) continue;
    for (const ListenAddress& address : *addresses) {
      if (address.port != 0 && std::ranges::find(all, address) != all.end()) {
        errors.Add(*node, fmt::format("duplicate address in `udp`: {}", ToString(address)));
        return;
      }
      all.push_back(address);
    }
  }
}

// Checks a mapping with `listen` and the three TLS files.
void CheckAccess(std::span<const ListenAddress> listen, const TlsConfig& tls, const YamlNode& node,
                 YamlErrors& errors) {
  if (const Status checked = CheckTls(listen, tls); !checked) {
    errors.Add(node, checked.error().message);
  }
}

void CheckNames(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("names");
  for (const std::string& name : config.names) {
    if (node != nullptr && !IsHostName(name)) {
      errors.Add(*node, fmt::format(
                            "{} is not a host name: expected a name such as appliance.example.org, "
                            "without scheme and port",
                            QuotedYaml(name)));
    }
  }
}

void CheckExternalUrl(HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("external_url");
  if (node == nullptr || config.external_url.empty()) return;
  // It becomes a metric label and the start of a link. "@": a password would be published.
  constexpr std::string_view kForbidden = "\"'<>\\`{}|^?#@";
  const auto is_forbidden = [&](char c) {
    return c <= ' ' || c > '~' || kForbidden.find(c) != std::string_view::npos;
  };
  std::string_view host = config.external_url;
  const bool has_scheme = host.starts_with("http://") || host.starts_with("https://");
  host.remove_prefix(std::min(host.size(), host.find("://") + 3));
  if (!has_scheme || host.empty() || host.starts_with('/') || host.starts_with(':') ||
      std::ranges::any_of(config.external_url, is_forbidden)) {
    errors.Add(*node, fmt::format("{} is not the URL of a dashboard: expected, for example, "
                                  "https://rocescope.example.org, without query and fragment",
                                  QuotedYaml(config.external_url)));
  }
  while (config.external_url.ends_with('/')) config.external_url.pop_back();
}

// Returns whether sockets at these addresses exclude each other.
bool Overlap(const ListenAddress& a, const ListenAddress& b) {
  // [::] includes all IPv4 addresses.
  const auto includes = [](const IpAddress& all, const IpAddress& one) {
    return all == one || (all.IsUnspecified() && (!all.IsV4() || one.IsV4()));
  };
  return a.port != 0 && a.port == b.port &&
         (includes(a.address, b.address) || includes(b.address, a.address));
}

void CheckHealthListen(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("health_listen");
  if (node == nullptr || !config.health_listen) return;
  if (!config.health_listen->IsLoopback()) {
    errors.Add(*node, fmt::format("{} is not a loopback address: the listener for health checks "
                                  "requires no authentication; use, for example, 127.0.0.1",
                                  ToString(*config.health_listen)));
  } else if (config.listen && Overlap(*config.health_listen, *config.listen)) {
    errors.Add(*node, "`health_listen` and `listen` have the same port; use different ports");
  }
}

// Jobs can be registered without a user, and belong to no client.
void CheckUsers(const std::vector<std::string>& users, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("users");
  if (node != nullptr && std::ranges::find(users, "") != users.end()) {
    errors.Add(*node, "expected the names of users of the scheduler, found an empty name");
  }
}

// A client has the permissions of all of its roles, so another one would make it no tenant.
void CheckTenants(const GrpcConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("tenants");
  if (node == nullptr) return;
  for (const auto& [key, names] :
       {std::pair("viewers", &config.viewers), std::pair("schedulers", &config.schedulers),
        std::pair("operators", &config.operators)}) {
    for (const TenantConfig& tenant : config.tenants) {
      if (std::ranges::find(*names, tenant.name) == names->end()) continue;
      errors.Add(*node, fmt::format("{} is also in `{}`, which permits it to read data of all "
                                    "jobs: remove it from one of the lists",
                                    QuotedYaml(tenant.name), key));
    }
  }
}

void CheckTokens(const HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const tokens = map.Find("tokens");
  if (tokens == nullptr || config.tokens.empty()) return;
  const auto lower = [](unsigned char c) { return std::tolower(c); };
  for (size_t i = 0; i < config.tokens.size(); ++i) {
    const auto is_same = [&](const TokenConfig& other) {
      return std::ranges::equal(other.sha256, config.tokens[i].sha256, {}, lower, lower);
    };
    if (IsDigest(config.tokens[i].sha256) &&
        std::any_of(config.tokens.begin(), config.tokens.begin() + static_cast<ptrdiff_t>(i),
                    is_same)) {
      errors.Add(*tokens, fmt::format("two tokens have the digest {}", config.tokens[i].sha256));
    }
  }
  if (config.tls.IsThere()) {
    errors.Add(*tokens,
               "tokens are for a listener without certificate, key and client_ca: with these, "
               "clients present certificates");
  }
}

}  // namespace

bool IsDigest(std::string_view text) {
  return text.size() == 64 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

void CheckMapping(const InterfaceConfig& config, const YamlMap& map, YamlErrors& errors) {
  if (const YamlNode* name = map.Require("name"); name != nullptr && config.name.empty()) {
    errors.Add(*name, "expected the name of an interface");
  }
}

void CheckMapping(const UdpConfig& config, const YamlMap& map, YamlErrors& errors) {
  CheckListens(config, map, errors);
}

void CheckMapping(const ScrapeTarget&, const YamlMap& map, YamlErrors&) { map.Require("url"); }

void CheckMapping(const MetricRule&, const YamlMap& map, YamlErrors&) {
  map.Require("from");
  map.Require("metric");
}

void CheckMapping(HttpConfig& config, const YamlMap& map, YamlErrors& errors) {
  CheckNames(config, map, errors);
  CheckTokens(config, map, errors);
  CheckHealthListen(config, map, errors);
  CheckExternalUrl(config, map, errors);
  if (config.listen) CheckAccess({&*config.listen, 1}, config.tls, map.node(), errors);
}

void CheckMapping(const TokenConfig& config, const YamlMap& map, YamlErrors& errors) {
  if (const YamlNode* digest = map.Require("sha256"); digest && !IsDigest(config.sha256)) {
    errors.Add(*digest, "expected the SHA-256 digest of a token: 64 hexadecimal digits");
  }
  if (config.role == TokenRole::kTenant && config.users.empty()) {
    errors.Add(map.node(),
               "`users` is required for the role `tenant`: name the users of the scheduler "
               "whose jobs the client may read");
  } else if (config.role != TokenRole::kTenant && !config.users.empty()) {
    errors.Add(map.node(),
               "`users` is only for the role `tenant`: other roles read data of all jobs");
  }
  CheckUsers(config.users, map, errors);
}

void CheckMapping(const GrpcConfig& config, const YamlMap& map, YamlErrors& errors) {
  CheckAccess(config.listen, config.tls, map.node(), errors);
  CheckTenants(config, map, errors);
}

void CheckMapping(const TenantConfig& config, const YamlMap& map, YamlErrors& errors) {
  if (const YamlNode* name = map.Require("name"); name != nullptr && config.name.empty()) {
    errors.Add(*name, "expected a certificate name");
  }
  if (const YamlNode* users = map.Require("users"); users != nullptr && config.users.empty()) {
    errors.Add(*users, "expected the users of the scheduler whose jobs the client may read");
  }
  CheckUsers(config.users, map, errors);
}

void CheckMapping(const ApplianceConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const http = map.Find("http");
  const YamlNode* const grpc = map.Find("grpc");
  if (http == nullptr && grpc == nullptr) return;
  const auto check = [&](const char* key, const std::optional<ListenAddress>& listen) {
    for (const ListenAddress& address : config.grpc.listen) {
      if (!listen || !Overlap(*listen, address)) continue;
      errors.Add(http != nullptr ? *http : *grpc,
                 fmt::format("`http.{}` ({}) and `grpc.listen` ({}) have the same port; use "
                             "different ports",
                             key, ToString(*listen), ToString(address)));
    }
  };
  check("listen", config.http.listen);
  check("health_listen", config.http.health_listen);
}

void CheckMapping(const AgentConfig& config, const YamlMap& map, YamlErrors& errors) {
  const YamlNode* const node = map.Find("host");
  if (node == nullptr || config.host.empty() || IsHostName(config.host)) return;
  errors.Add(*node,
             fmt::format("`host`: {} is not a host name: expected at most 253 letters, digits, "
                         "'-', '_' and '.'",
                         QuotedYaml(config.host)));
}

}  // namespace rocescope
