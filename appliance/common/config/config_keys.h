// SPDX-License-Identifier: BSD-3-Clause
// Each key of the configuration once: its name, where its value goes, its bounds, what it means.
// A visitor has Key(name, value, meaning) for all kinds of values.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "analytics/diagnosis/thresholds.h"
#include "appliance/common/config/config.h"

namespace rocescope {

// A number or a length of time that has bounds.
template <typename T>
struct Within {
  T& value;
  T least;
  T most;
};
template <typename T>
Within(T&, T, T) -> Within<T>;

// A number of octets, such as 64M.
struct Bytes {
  uint64_t& value;
  uint64_t least;
  uint64_t most;
};

// One of a few words.
template <typename T>
struct OneOf {
  T& value;
  std::span<const std::pair<std::string_view, T>> words;
};
inline constexpr std::array<std::pair<std::string_view, SpreadBy>, 4> kSpreadWords = {
    {{"auto", SpreadBy::kAuto},
     {"rss", SpreadBy::kRss},
     {"software", SpreadBy::kSoftware},
     {"none", SpreadBy::kNone}}};

// The names of a table's rows as words for its enumerators.
template <typename T, typename Table>
constexpr auto WordsOf(const Table& table) {
  std::array<std::pair<std::string_view, T>, std::tuple_size_v<Table>> words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = {table[i].name, static_cast<T>(i)};
  return words;
}
inline constexpr auto kMetricWords = WordsOf<Metric>(kMetrics);
inline constexpr auto kEntityWords = WordsOf<EntityKind>(kEntityKinds);

// Where to listen, or the word `none`.
struct AddressOrNone {
  std::optional<ListenAddress>& value;
};

template <typename Visitor>
void VisitKeys(InterfaceConfig& config, Visitor& visitor) {
  visitor.Key("name", config.name, "of the interface, as `ip link` has it");
  visitor.Key("tap", config.tap, "what copies from it are called; empty: as the interface");
  visitor.Key("filter", config.filter, "as tcpdump takes it; empty: everything");
  visitor.Key("snap", Within<uint32_t>{config.snap, 64, 65'535}, "octets taken of a frame");
  visitor.Key("promiscuous", config.promiscuous, "also frames to other addresses: mirrors need it");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{1} << 20, uint64_t{1} << 30},
              "octets in the kernel for frames that wait");
}

template <typename Visitor>
void VisitKeys(DpdkConfig& config, Visitor& visitor) {
  visitor.Key("eal", config.eal,
              "EAL's words, such as [--no-huge, -l, \"0,2\", \"--vdev=net_pcap0,iface=eth1\"]; "
              "empty: DPDK is not started");
  visitor.Key("ports", config.ports, "names or numbers of its ports; empty: all that EAL found");
  visitor.Key("lcores", Within<uint16_t>{config.lcores, 0, 64},
              "that receive, each a core that never sleeps and some 630 MB; 0: all of EAL's");
  visitor.Key("spread", OneOf<SpreadBy>{config.spread, kSpreadWords},
              "how a host pair's frames come to one lcore: auto, rss, software or none");
  visitor.Key("mbufs", Within<uint32_t>{config.mbufs, 0, 1u << 24},
              "in the pool of each port; 0: enough for its queues");
}

template <typename Visitor>
void VisitKeys(UdpConfig& config, Visitor& visitor) {
  visitor.Key("int", config.int_reports,
              "where INT telemetry reports 2.0 arrive, such as 127.0.0.1:32766");
  visitor.Key("sflow", config.sflow, "where sFlow v5 arrives, such as 127.0.0.1:6343");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{1} << 16, uint64_t{1} << 30},
              "octets in the kernel for datagrams that wait, for each of them");
}

// They stand beside `listen`, in no map of their own.
template <typename Visitor>
void VisitKeys(TlsConfig& config, Visitor& visitor) {
  visitor.Key("certificate", config.certificate, "PEM file of the box's own certificate");
  visitor.Key("key", config.key, "PEM file of its key");
  visitor.Key("client_ca", config.client_ca, "PEM file of who signs callers' certificates");
}

template <typename Visitor>
void VisitKeys(HttpConfig& config, Visitor& visitor) {
  visitor.Key("listen", AddressOrNone{config.listen},
              "an address, or none; one that is not of loopback needs the three files, and callers "
              "a certificate whose name is among viewers, schedulers or operators of `grpc`");
  VisitKeys(config.tls, visitor);
  visitor.Key("names", config.names,
              "by which browsers and others ask for this host, such as box.example.org; its "
              "addresses and localhost always do");
}

template <typename Visitor>
void VisitKeys(GrpcConfig& config, Visitor& visitor) {
  visitor.Key("listen", config.listen,
              "addresses; one that is not of loopback needs the three files; []: not at all");
  VisitKeys(config.tls, visitor);
  visitor.Key("viewers", config.viewers,
              "names in certificates of those who may read (alternative names, or the common one)");
  visitor.Key("schedulers", config.schedulers, "likewise of schedulers");
  visitor.Key("operators", config.operators, "likewise of those who may do everything");
  visitor.Key("agents", config.agents,
              "likewise of hosts' agents; \"*.gpu.example\" stands for any first label. An agent "
              "reports for a host that its certificate names");
}

template <typename Visitor>
void VisitKeys(AgentsConfig& config, Visitor& visitor) {
  visitor.Key("any_host", config.any_host,
              "names in certificates of agents that may report for any host");
  visitor.Key("most", Within<uint32_t>{config.most, 1, 65'536}, "hosts that may report");
  visitor.Key("bytes_per_second",
              Bytes{config.bytes_per_second, uint64_t{16} << 10, uint64_t{1} << 30},
              "taken of each; what is more waits on the host");
  visitor.Key("queue", Bytes{config.queue, uint64_t{4} << 20, uint64_t{16} << 30},
              "octets of all that wait to be read; what is more waits on the hosts");
  visitor.Key("silent_after",
              Within<Duration>{config.silent_after, std::chrono::seconds(1), std::chrono::hours(1)},
              "after so long an agent that said nothing is a problem");
}

template <typename Visitor>
void VisitKeys(ScrapeTarget& config, Visitor& visitor) {
  visitor.Key("url", config.url, "such as http://10.0.0.7:9400/metrics");
  visitor.Key("node", config.node, "whose metrics they are, where no label says so");
  visitor.Key("period",
              Within<Duration>{config.period, std::chrono::milliseconds(10), std::chrono::hours(1)},
              "between two readings; no longer than analysis_window");
}

template <typename Visitor>
void VisitKeys(MetricRule& config, Visitor& visitor) {
  visitor.Key("from", config.from, "the metric's name");
  visitor.Key("metric", OneOf<Metric>{config.metric, kMetricWords}, "what it is here");
  visitor.Key("entity", OneOf<EntityKind>{config.entity, kEntityWords}, "of what");
  visitor.Key("node", config.node, "label with the switch's or host's name");
  visitor.Key("port", config.port, "label with the port's or device's name");
  visitor.Key("gpu", config.gpu, "label with the GPU's number");
  visitor.Key("priority", config.priority, "label with the priority; where it is empty, of all");
  visitor.Key("scale", Within<uint64_t>{config.scale, 1, 1'000'000'000'000},
              "by which values are multiplied: 1000000000 makes ns of seconds");
}

template <typename Visitor>
void VisitKeys(ScrapeConfig& config, Visitor& visitor) {
  visitor.Key("targets", config.targets, "exporters of switches, hosts and GPUs");
  visitor.Key("rules", config.rules,
              "what their metrics are, beside what is known: fabric_ENTITY_METRIC with the labels "
              "node, port, priority and gpu, and dcgm-exporter's");
}

template <typename Visitor>
void VisitKeys(HostFilesConfig& config, Visitor& visitor) {
  visitor.Key("nccl_logs", config.nccl_logs, "files or folders of what NCCL_DEBUG=INFO printed");
  visitor.Key("rdma", config.rdma, "likewise of `rdma -j resource show qp`");
  visitor.Key("slurm", config.slurm, "likewise of `squeue --json`");
}

template <typename Visitor>
void VisitKeys(HistoryConfig& config, Visitor& visitor) {
  constexpr Duration kLeast = std::chrono::hours(1);
  constexpr Duration kMost = std::chrono::hours(24 * 3650);
  visitor.Key("file", config.file, "an SQLite database of the box's own; empty: no history");
  visitor.Key("keep_events", Within<Duration>{config.keep_events, kLeast, kMost},
              "for how long faults and other events are kept");
  visitor.Key("keep_series", Within<Duration>{config.keep_series, kLeast, kMost},
              "for how long minutes of links and jobs are kept");
  visitor.Key("max_bytes", Bytes{config.max_bytes, uint64_t{16} << 20, uint64_t{1} << 40},
              "octets on the disk: before there are more, the oldest minutes go, then events");
}

template <typename Visitor>
void VisitKeys(JobsConfig& config, Visitor& visitor) {
  visitor.Key("file", config.file,
              "where jobs that a scheduler registers are kept, for a box that begins anew; empty: "
              "nowhere");
}

template <typename Visitor>
void VisitKeys(Thresholds& thresholds, Visitor& visitor) {
  VisitThresholds(
      thresholds, [&]<typename T>(std::string_view name, T& value, std::string_view unit, T least,
                                  T most, std::string_view help) {
        visitor.Key(name, Within<T>{value, least, most},
                    fmt::format("{} Unit: {}. Range: {} to {}.", help, unit, least, most));
      });
}

template <typename Visitor>
void VisitKeys(ApplianceConfig& config, Visitor& visitor) {
  visitor.Key("topology", config.topology,
              "the fabric (`rocescope topology`); without it no paths and no diagnosis");
  visitor.Key(
      "user", config.user,
      "to become, of who starts it as root, once devices and ports to receive from are open");
  visitor.Key("record_interval",
              Within<Duration>{config.record_interval, std::chrono::milliseconds(1),
                               std::chrono::seconds(4)},
              "of flow records");
  visitor.Key(
      "analysis_window",
      Within<Duration>{config.analysis_window, std::chrono::milliseconds(1), std::chrono::hours(1)},
      "that congestion and faults are told by; answers are worked out anew at its end");
  visitor.Key("interfaces", config.interfaces, "interfaces that the kernel receives from");
  visitor.Key("dpdk", config.dpdk, "ports that DPDK receives from");
  visitor.Key("udp", config.udp, "telemetry that is sent to this machine");
  visitor.Key("scrape", config.scrape, "counters that Prometheus exporters tell");
  visitor.Key("host_files", config.host_files,
              "what hosts leave in files; read at the beginning, and anew at SIGHUP");
  visitor.Key("http", config.http,
              "where the page, the API and metrics are served: these keys, or `listen` alone as in "
              "`http: 127.0.0.1:8080` or `http: none`");
  visitor.Key("grpc", config.grpc, "where schedulers and others call");
  visitor.Key("agents", config.agents, "what hosts' agents may tell over gRPC");
  visitor.Key("history", config.history, "what is kept on the disk of events, links and jobs");
  visitor.Key("jobs", config.jobs, "what schedulers register");
  visitor.Key(
      "diagnosis", config.diagnosis,
      "Thresholds by which faults are detected. Change one only to suppress false alarms or "
      "to detect weaker faults.");
}

}  // namespace rocescope
