// SPDX-License-Identifier: BSD-3-Clause
// Checks of whole mappings of the configuration: required keys, and values that depend on each
// other. config_keys.h declares the bounds of single values.
#pragma once

#include <string_view>

#include "appliance/common/config/agent_config.h"
#include "appliance/common/config/config.h"
#include "base/text/yaml_fields.h"

namespace rocescope {

// These add an error for each violation. `config` contains the values of `map`.
void CheckMapping(const InterfaceConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const UdpConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const ScrapeTarget& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const MetricRule& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
// Also removes trailing slashes from `external_url`.
void CheckMapping(HttpConfig& config, const topology::YamlMap& map, topology::YamlErrors& errors);
void CheckMapping(const TokenConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const GrpcConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const TenantConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const ApplianceConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);
void CheckMapping(const AgentConfig& config, const topology::YamlMap& map,
                  topology::YamlErrors& errors);

// Returns whether the text is a SHA-256 digest: 64 hexadecimal digits.
bool IsDigest(std::string_view text);

}  // namespace rocescope
