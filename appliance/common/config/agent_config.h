// SPDX-License-Identifier: BSD-3-Clause
// The YAML configuration of `rocescope agent`. agent_config_keys.h documents each key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/config/config.h"
#include "base/result.h"
#include "base/time.h"

namespace rocescope {

// TLS files with which agent and appliance authenticate each other: all three, or none for no TLS.
struct AgentTlsConfig {
  std::string certificate;
  std::string key;
  std::string appliance_ca;

  friend bool operator==(const AgentTlsConfig&, const AgentTlsConfig&) = default;
};

struct AgentMetricsConfig {
  std::vector<std::string> urls;
  std::vector<std::string> files;
  std::vector<MetricRule> rules;

  friend bool operator==(const AgentMetricsConfig&, const AgentMetricsConfig&) = default;
};

struct AgentConfig {
  std::string appliance = "127.0.0.1:50051";
  AgentTlsConfig tls;
  std::string host;
  std::vector<std::string> nccl_logs;
  Duration log_age = std::chrono::hours(24 * 14);
  Duration log_period = std::chrono::milliseconds(500);
  bool queue_pairs = true;
  Duration queue_pair_period = std::chrono::seconds(5);
  bool counters = true;
  Duration counter_period = std::chrono::seconds(1);
  std::vector<std::string> interfaces;
  AgentMetricsConfig metrics;
  uint64_t buffer = uint64_t{8} << 20;
  SandboxMode sandbox = SandboxMode::kAuto;
  std::string root;

  friend bool operator==(const AgentConfig&, const AgentConfig&) = default;
};

// These work as ParseConfig, LoadConfig and DumpConfig do for the appliance.
Result<AgentConfig> ParseAgentConfig(std::string_view text, std::string_view file);
Result<AgentConfig> LoadAgentConfig(const std::string& path);
std::string DumpAgentConfig(const AgentConfig& config);

}  // namespace rocescope
