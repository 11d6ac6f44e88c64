// SPDX-License-Identifier: BSD-3-Clause
// Declares each key of the agent's configuration once, as config_keys.h does for the appliance.
#pragma once

#include "appliance/common/config/agent_config.h"
#include "appliance/common/config/config_keys.h"

namespace rocescope {

template <typename Visitor>
void VisitKeys(AgentTlsConfig& config, Visitor& visitor) {
  visitor.Key("certificate", config.certificate,
              "PEM file with this host's certificate. It must name the host.");
  visitor.Key("key", Secret{config.key}, "PEM file with the certificate's private key.");
  visitor.Key("appliance_ca", config.appliance_ca,
              "PEM file with the CA that signs the appliance's certificate.");
}

template <typename Visitor>
void VisitKeys(AgentMetricsConfig& config, Visitor& visitor) {
  visitor.Key(
      "urls", config.urls,
      "URLs of exporters on this host, for example http://127.0.0.1:9400/metrics (dcgm-exporter).");
  visitor.Key("files", config.files,
              "Files that programs write in the Prometheus or OpenMetrics text format.");
  visitor.Key(
      "rules", config.rules,
      "Mappings of exporter metrics to counters and gauges, as in `scrape` of the appliance "
      "configuration.");
}

template <typename Visitor>
void VisitKeys(AgentConfig& config, Visitor& visitor) {
  constexpr Duration kOften = std::chrono::milliseconds(10);
  constexpr Duration kHour = std::chrono::hours(1);
  visitor.Key("appliance", config.appliance,
              "gRPC address of the appliance: HOST:PORT or ADDRESS:PORT.");
  visitor.Key("tls", config.tls,
              "TLS files: either all three or none. Without TLS, the agent connects only to an "
              "appliance on this host.");
  visitor.Key("host", config.host,
              "Name of this host in the topology or the scheduler. Default: the host name that the "
              "kernel reports.");
  visitor.Key("nccl_logs", config.nccl_logs,
              "Files or glob patterns of logs with NCCL_DEBUG=INFO output, for example "
              "/var/log/nccl/*.log*. The pattern should match rotated files too.");
  visitor.Key("log_age", Within<Duration>{config.log_age, kHour, std::chrono::hours(24 * 3650)},
              "Maximum age of logs: logs that have not been written to for longer are ignored.");
  visitor.Key("log_period", Within<Duration>{config.log_period, kOften, kHour},
              "Interval at which logs are read.");
  visitor.Key("queue_pairs", config.queue_pairs,
              "Report the queue pairs of all processes, and the job and rank of the processes that "
              "own them.");
  visitor.Key(
      "queue_pair_period", Within<Duration>{config.queue_pair_period, kOften, kHour},
      "Interval at which queue pairs, devices and GPUs are read. Only changes are reported.");
  visitor.Key("counters", config.counters, "Report the counters of RDMA devices.");
  visitor.Key("counter_period", Within<Duration>{config.counter_period, kOften, kHour},
              "Interval at which counters and metrics are read. It must not exceed analysis_window "
              "of the appliance.");
  visitor.Key(
      "interfaces", config.interfaces,
      "Interfaces without an RDMA device whose counters are reported too, for example [eth0].");
  visitor.Key(
      "metrics", config.metrics,
      "Metrics that programs on this host export, in the Prometheus or OpenMetrics text format.");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{64} << 10, uint64_t{1} << 30},
              "Maximum size of the send buffer in bytes. It holds data while the appliance is "
              "unreachable, and logs to send again if the appliance restarts. When unsent logs "
              "fill three quarters of it, further log lines wait in their files. When it is full, "
              "the oldest counter values are dropped.");
  visitor.Key(
      "sandbox", OneOf<SandboxMode>{config.sandbox, kSandboxWords},
      "auto: give up unneeded privileges, and refuse writing to files and system calls that "
      "the agent does not need, as far as the kernel supports it. off: no such "
      "restrictions.");
  visitor.Key(
      "root", config.root,
      "Directory that is prefixed to /sys and /proc, for tests and containers. Default: none.");
}

}  // namespace rocescope
