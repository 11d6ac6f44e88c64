// SPDX-License-Identifier: BSD-3-Clause
// What `rocescope run` is told in its YAML file. What each key means stands with it in
// config_keys.h, from which reading, writing and `config dump` follow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/diagnosis/thresholds.h"
#include "appliance/common/config/listen_address.h"
#include "appliance/common/config/tls_config.h"
#include "appliance/common/files/text_file.h"
#include "base/result.h"
#include "base/time.h"
#include "dataplane/port/spread_by.h"
#include "dataplane/record/metric.h"

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

struct DpdkConfig {
  std::vector<std::string> eal;    // words; empty: no DPDK
  std::vector<std::string> ports;  // empty: all that EAL found
  uint16_t lcores = 0;             // 0: all of EAL's
  SpreadBy spread = SpreadBy::kAuto;
  uint32_t mbufs = 0;

  friend bool operator==(const DpdkConfig&, const DpdkConfig&) = default;
};

struct GrpcConfig {
  std::vector<ListenAddress> listen = {{.address = IpAddress::FromV4(0x7f000001), .port = 50051}};
  TlsConfig tls;
  std::vector<std::string> viewers;
  std::vector<std::string> schedulers;
  std::vector<std::string> operators;
  std::vector<std::string> agents;

  friend bool operator==(const GrpcConfig&, const GrpcConfig&) = default;
};

struct AgentsConfig {
  std::vector<std::string> any_host;
  uint32_t most = 4096;
  uint64_t bytes_per_second = uint64_t{1} << 20;
  uint64_t queue = uint64_t{64} << 20;
  Duration silent_after = std::chrono::seconds(30);

  friend bool operator==(const AgentsConfig&, const AgentsConfig&) = default;
};

// An exporter of Prometheus metrics.
struct ScrapeTarget {
  std::string url;
  std::string node;  // whose metrics they are, where no label says so
  Duration period = std::chrono::seconds(1);

  friend bool operator==(const ScrapeTarget&, const ScrapeTarget&) = default;
};

// What an exporter's metric is here, and which of its labels say whose it is.
struct MetricRule {
  std::string from;
  Metric metric = Metric::kRxBytes;
  EntityKind entity = EntityKind::kPort;
  std::string node = "node";
  std::string port = "port";
  std::string gpu = "gpu";
  std::string priority = "priority";
  uint64_t scale = 1;

  friend bool operator==(const MetricRule&, const MetricRule&) = default;
};

struct ScrapeConfig {
  std::vector<ScrapeTarget> targets;
  std::vector<MetricRule> rules;

  friend bool operator==(const ScrapeConfig&, const ScrapeConfig&) = default;
};

struct HostFilesConfig {
  std::vector<std::string> nccl_logs;
  std::vector<std::string> rdma;
  std::vector<std::string> slurm;

  friend bool operator==(const HostFilesConfig&, const HostFilesConfig&) = default;
};

struct HistoryConfig {
  std::string file;  // empty: no history
  Duration keep_events = std::chrono::hours(24 * 90);
  Duration keep_series = std::chrono::hours(24 * 14);
  uint64_t max_bytes = uint64_t{1} << 30;

  friend bool operator==(const HistoryConfig&, const HistoryConfig&) = default;
};

struct JobsConfig {
  std::string file;  // empty: who is registered is forgotten with the process

  friend bool operator==(const JobsConfig&, const JobsConfig&) = default;
};

inline constexpr ListenAddress kDefaultHttp = {.address = IpAddress::FromV4(0x7f000001),
                                               .port = 8080};

struct HttpConfig {
  std::optional<ListenAddress> listen = kDefaultHttp;  // unset: not at all
  TlsConfig tls;
  std::vector<std::string> names;  // of this host

  friend bool operator==(const HttpConfig&, const HttpConfig&) = default;
};

struct ApplianceConfig {
  std::string topology;
  std::string user;  // to become once devices and sockets are open; empty: who it was started as
  Duration record_interval = std::chrono::milliseconds(100);
  Duration analysis_window = std::chrono::seconds(1);
  std::vector<InterfaceConfig> interfaces;
  DpdkConfig dpdk;
  UdpConfig udp;
  ScrapeConfig scrape;
  HostFilesConfig host_files;
  HttpConfig http;
  GrpcConfig grpc;
  AgentsConfig agents;
  HistoryConfig history;
  JobsConfig jobs;
  Thresholds diagnosis;

  friend bool operator==(const ApplianceConfig&, const ApplianceConfig&) = default;
};

// All that is wrong is told at once: "FILE:LINE:COLUMN: what", one a line. Paths stay as written.
Result<ApplianceConfig> ParseConfig(std::string_view text, std::string_view file);

// The file at `path`; relative paths in it are taken from its folder.
Result<ApplianceConfig> LoadConfig(const std::string& path, Pipes pipes = Pipes::kRead);

// Every key with its value, those that were left out too, and what it means above it. ParseConfig
// makes the same of it.
std::string DumpConfig(const ApplianceConfig& config);

}  // namespace rocescope
