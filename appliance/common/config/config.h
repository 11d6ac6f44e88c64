// SPDX-License-Identifier: BSD-3-Clause
// The YAML configuration of `rocescope run`. config_keys.h documents each key; reading, writing and
// `config dump` derive from it.
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
#include "base/ip_prefix.h"
#include "base/result.h"
#include "base/time.h"
#include "dataplane/port/spread_by.h"
#include "dataplane/record/metric.h"

namespace rocescope {

enum class SandboxMode : uint8_t {
  kAuto,  // restrict the process as far as the kernel supports it
  kOff,
};

struct InterfaceConfig {
  std::string name;
  std::string tap;     // tap name of received packets; empty: `name`
  std::string filter;  // pcap filter; empty: no filter
  uint32_t snap = 256;
  bool promiscuous = true;
  uint64_t buffer = uint64_t{64} << 20;

  friend bool operator==(const InterfaceConfig&, const InterfaceConfig&) = default;
};

struct UdpConfig {
  std::vector<ListenAddress> int_reports;
  std::vector<ListenAddress> sflow;
  std::vector<IpPrefix> senders;
  uint64_t buffer = uint64_t{16} << 20;

  friend bool operator==(const UdpConfig&, const UdpConfig&) = default;
};

struct DpdkConfig {
  std::vector<std::string> eal;    // EAL arguments; empty: DPDK is not started
  std::vector<std::string> ports;  // empty: all ports that the EAL finds
  uint16_t lcores = 0;             // 0: all lcores of the EAL
  SpreadBy spread = SpreadBy::kAuto;
  uint32_t mbufs = 0;

  friend bool operator==(const DpdkConfig&, const DpdkConfig&) = default;
};

// A client that may read data of its own jobs only.
struct TenantConfig {
  std::string name;                // certificate name
  std::vector<std::string> users;  // users of the scheduler whose jobs belong to the client

  friend bool operator==(const TenantConfig&, const TenantConfig&) = default;
};

struct GrpcConfig {
  std::vector<ListenAddress> listen = {{.address = IpAddress::FromV4(0x7f000001), .port = 50051}};
  TlsConfig tls;
  std::vector<std::string> viewers;
  std::vector<std::string> schedulers;
  std::vector<std::string> operators;
  std::vector<std::string> agents;
  std::vector<TenantConfig> tenants;

  friend bool operator==(const GrpcConfig&, const GrpcConfig&) = default;
};

struct AgentsConfig {
  std::vector<std::string> domains;
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
  std::string node;  // the only node that it may report for; empty: any node
  Duration period = std::chrono::seconds(1);

  friend bool operator==(const ScrapeTarget&, const ScrapeTarget&) = default;
};

// Maps an exporter's metric to a rocescope metric, and names the labels that identify the entity.
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

// Limits the series of the Prometheus metrics.
struct MetricsConfig {
  uint32_t max_links = 10'000;
  uint32_t max_jobs = 1'000;

  friend bool operator==(const MetricsConfig&, const MetricsConfig&) = default;
};

struct JobsConfig {
  std::string file;  // empty: registrations are lost on restart
  bool require_durable = false;

  friend bool operator==(const JobsConfig&, const JobsConfig&) = default;
};

struct FindingsConfig {
  std::string file;  // empty: acknowledgements and mutes are lost on restart

  friend bool operator==(const FindingsConfig&, const FindingsConfig&) = default;
};

inline constexpr ListenAddress kDefaultHttp = {.address = IpAddress::FromV4(0x7f000001),
                                               .port = 8080};

enum class TokenRole : uint8_t { kViewer, kOperator, kTenant };

// A bearer token of HTTP clients.
struct TokenConfig {
  std::string name;    // client name; empty: unnamed
  std::string sha256;  // digest of the token, 64 hexadecimal digits
  TokenRole role = TokenRole::kViewer;
  std::vector<std::string> users;  // only for tenants: users of the scheduler

  friend bool operator==(const TokenConfig&, const TokenConfig&) = default;
};

struct HttpConfig {
  std::optional<ListenAddress> listen = kDefaultHttp;  // unset: no HTTP server
  TlsConfig tls;
  std::vector<std::string> names;              // additional names accepted in the Host header
  std::vector<TokenConfig> tokens;             // empty: no token is required
  std::optional<ListenAddress> health_listen;  // loopback; unset: no listener for health checks
  std::string external_url;  // of the dashboard, without a trailing slash; empty: not configured

  friend bool operator==(const HttpConfig&, const HttpConfig&) = default;
};

struct ApplianceConfig {
  std::string topology;
  std::string user;  // to switch to after devices and sockets are open; empty: no switch
  uint64_t memory = uint64_t{8} << 30;
  SandboxMode sandbox = SandboxMode::kAuto;
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
  FindingsConfig findings;
  MetricsConfig metrics;
  Thresholds diagnosis;

  friend bool operator==(const ApplianceConfig&, const ApplianceConfig&) = default;
};

// Reports all errors at once, one "FILE:LINE:COLUMN: message" per line. Does not resolve paths.
Result<ApplianceConfig> ParseConfig(std::string_view text, std::string_view file);

// Loads the file at `path`. Relative paths in it are relative to its directory.
Result<ApplianceConfig> LoadConfig(const std::string& path, Pipes pipes = Pipes::kRead);

// Returns an error if the configuration names no source of telemetry.
Status CheckSources(const ApplianceConfig& config);

// Every key with its value (defaults included), each below a comment that explains it. ParseConfig
// of the result returns an equal configuration.
std::string DumpConfig(const ApplianceConfig& config);

// Replaces secrets, for texts that leave the appliance.
inline constexpr std::string_view kRemoved = "(removed)";

// As DumpConfig, with kRemoved for each value that config_keys.h declares as a secret, and URLs as
// by UrlWithoutSecrets.
std::string DumpConfigWithoutSecrets(const ApplianceConfig& config);

// The values that config_keys.h declares as secrets: token digests and paths of private keys; and
// users, passwords and queries of URLs.
std::vector<std::string> SecretsOf(const ApplianceConfig& config);

// Returns the URL with kRemoved for its user and password, and for its query.
std::string UrlWithoutSecrets(std::string_view url);

}  // namespace rocescope
