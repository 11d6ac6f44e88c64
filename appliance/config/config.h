// SPDX-License-Identifier: BSD-3-Clause
// What `rocescope run` is told in its YAML file. What each key means stands with it in
// config_keys.h, from which reading, writing and `config dump` follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/config/listen_address.h"
#include "base/result.h"
#include "base/time.h"

namespace rocescope {

struct InterfaceConfig {
  std::string name;
  std::string tap;     // what its copies are called; empty: as the interface
  std::string filter;  // libpcap's; empty: everything
  uint32_t snap = 256;
  bool promiscuous = true;
  uint64_t buffer = uint64_t{64} << 20;

  friend bool operator==(const InterfaceConfig&, const InterfaceConfig&) = default;
};

struct UdpConfig {
  std::vector<ListenAddress> int_reports;
  std::vector<ListenAddress> sflow;
  uint64_t buffer = uint64_t{16} << 20;

  friend bool operator==(const UdpConfig&, const UdpConfig&) = default;
};

struct HostFilesConfig {
  std::vector<std::string> nccl_logs;
  std::vector<std::string> rdma;
  std::vector<std::string> slurm;

  friend bool operator==(const HostFilesConfig&, const HostFilesConfig&) = default;
};

struct ApplianceConfig {
  std::string topology;
  Duration record_interval = std::chrono::milliseconds(100);
  Duration analysis_window = std::chrono::seconds(1);
  std::vector<InterfaceConfig> interfaces;
  UdpConfig udp;
  HostFilesConfig host_files;

  friend bool operator==(const ApplianceConfig&, const ApplianceConfig&) = default;
};

// All that is wrong is told at once: "FILE:LINE:COLUMN: what", one a line. Paths stay as written.
Result<ApplianceConfig> ParseConfig(std::string_view text, std::string_view file);

// The file at `path`; relative paths in it are taken from its folder.
Result<ApplianceConfig> LoadConfig(const std::string& path);

// Every key with its value, those that were left out too, and what it means above it. ParseConfig
// makes the same of it.
std::string DumpConfig(const ApplianceConfig& config);

}  // namespace rocescope
