// SPDX-License-Identifier: BSD-3-Clause
// Each key of the agent's configuration once, as config_keys.h has those of the box.
#pragma once

#include "appliance/common/config/agent_config.h"
#include "appliance/common/config/config_keys.h"

namespace rocescope {

template <typename Visitor>
void VisitKeys(AgentTlsConfig& config, Visitor& visitor) {
  visitor.Key("certificate", config.certificate,
              "PEM file of the host's certificate, which names the host");
  visitor.Key("key", config.key, "PEM file of its key");
  visitor.Key("appliance_ca", config.appliance_ca, "PEM file of who signs the box's certificate");
}

template <typename Visitor>
void VisitKeys(AgentMetricsConfig& config, Visitor& visitor) {
  visitor.Key("urls", config.urls,
              "exporters on this host, such as http://127.0.0.1:9400/metrics (dcgm-exporter)");
  visitor.Key("files", config.files, "files that programs write in the same format");
  visitor.Key("rules", config.rules, "what their metrics are, as in the box's `scrape`");
}

template <typename Visitor>
void VisitKeys(AgentConfig& config, Visitor& visitor) {
  constexpr Duration kOften = std::chrono::milliseconds(10);
  constexpr Duration kHour = std::chrono::hours(1);
  visitor.Key("box", config.box, "where it listens for gRPC: HOST:PORT or ADDRESS:PORT");
  visitor.Key("tls", config.tls,
              "give all three files; none: without TLS, which a box on this host alone may be");
  visitor.Key("host", config.host,
              "what the topology or the scheduler calls this host; empty: as the kernel does");
  visitor.Key("nccl_logs", config.nccl_logs,
              "what NCCL_DEBUG=INFO prints: files or patterns, such as /var/log/nccl/*.log*; also "
              "what rotation makes of them");
  visitor.Key("log_age", Within<Duration>{config.log_age, kHour, std::chrono::hours(24 * 3650)},
              "logs that were last written longer ago are passed over");
  visitor.Key("log_period", Within<Duration>{config.log_period, kOften, kHour},
              "between two looks at the logs");
  visitor.Key("queue_pairs", config.queue_pairs,
              "whether to tell queue pairs of all processes, and of the owners job and rank");
  visitor.Key("queue_pair_period", Within<Duration>{config.queue_pair_period, kOften, kHour},
              "between two looks at queue pairs, devices and GPUs; told when they change");
  visitor.Key("counters", config.counters, "whether to tell counters of RDMA devices");
  visitor.Key("counter_period", Within<Duration>{config.counter_period, kOften, kHour},
              "between two readings, of metrics too; no longer than the box's analysis_window");
  visitor.Key("interfaces", config.interfaces,
              "whose counters are told too though they have no RDMA device, such as [eth0]");
  visitor.Key("metrics", config.metrics, "of programs, in Prometheus' or OpenMetrics' text format");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{64} << 10, uint64_t{1} << 30},
              "octets kept for a box that is away, and of logs for one that begins anew");
  visitor.Key("root", config.root, "in front of /sys and /proc; empty: as they are");
}

}  // namespace rocescope
