// SPDX-License-Identifier: BSD-3-Clause
// Declares each configuration key once: its name, the member that holds its value, its bounds, and
// the comment that `config dump` prints above it. A visitor has Key(name, value, meaning) for all
// kinds of values.
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

// A number or a duration with inclusive bounds.
template <typename T>
struct Within {
  T& value;
  T least;
  T most;
};
template <typename T>
Within(T&, T, T) -> Within<T>;

// A size in bytes, such as 64M, with inclusive bounds.
struct Bytes {
  uint64_t& value;
  uint64_t least;
  uint64_t most;
};

// An enumerator, written as one of the given words.
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
inline constexpr std::array<std::pair<std::string_view, TokenRole>, 3> kTokenRoleWords = {
    {{"viewer", TokenRole::kViewer},
     {"operator", TokenRole::kOperator},
     {"tenant", TokenRole::kTenant}}};
inline constexpr std::array<std::pair<std::string_view, SandboxMode>, 2> kSandboxWords = {
    {{"auto", SandboxMode::kAuto}, {"off", SandboxMode::kOff}}};

// Maps the names of a table's rows to the enumerators with the same index.
template <typename T, typename Table>
constexpr auto WordsOf(const Table& table) {
  std::array<std::pair<std::string_view, T>, std::tuple_size_v<Table>> words;
  for (size_t i = 0; i < words.size(); ++i) words[i] = {table[i].name, static_cast<T>(i)};
  return words;
}
inline constexpr auto kMetricWords = WordsOf<Metric>(kMetrics);
inline constexpr auto kEntityWords = WordsOf<EntityKind>(kEntityKinds);

// A secret, or the path of a file with one. Support bundles do not contain it.
template <typename T>
struct Secret {
  T& value;
};
template <typename T>
Secret(T&) -> Secret<T>;

// A URL. Support bundles contain it without user, password and query.
struct Url {
  std::string& value;
};

// A listen address, or the word `none`.
struct AddressOrNone {
  std::optional<ListenAddress>& value;
};

template <typename Visitor>
void VisitKeys(InterfaceConfig& config, Visitor& visitor) {
  visitor.Key("name", config.name,
              "Name of the network interface, as shown by `ip link`. Required.");
  visitor.Key("tap", config.tap,
              "Tap name of the packets received here. Default: the interface name.");
  visitor.Key("filter", config.filter, "Capture filter in tcpdump syntax. Default: no filter.");
  visitor.Key("snap", Within<uint32_t>{config.snap, 64, 65'535},
              "Snapshot length in bytes: longer frames are truncated. Increase it if headers in "
              "tunnels are cut off.");
  visitor.Key("promiscuous", config.promiscuous,
              "Receive frames for any destination MAC address. Mirrored packets require it.");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{1} << 20, uint64_t{1} << 30},
              "Size of the kernel's receive buffer in bytes. Increase it if the kernel drops "
              "frames in bursts.");
}

template <typename Visitor>
void VisitKeys(DpdkConfig& config, Visitor& visitor) {
  visitor.Key(
      "eal", config.eal,
      "EAL arguments, for example [--no-huge, -l, \"0,2\", \"--vdev=net_pcap0,iface=eth1\"]. "
      "[]: DPDK is not started.");
  visitor.Key(
      "ports", config.ports,
      "Names or numbers of the DPDK ports to receive from. Default: all ports that the EAL finds.");
  visitor.Key("lcores", Within<uint16_t>{config.lcores, 0, 64},
              "Number of receiving lcores. Each one polls (100 % of a core) and uses about 630 MB "
              "of memory. 0: all lcores of the EAL.");
  visitor.Key("spread", OneOf<SpreadBy>{config.spread, kSpreadWords},
              "How both directions of a host pair reach the same lcore: rss (NIC hash of the outer "
              "addresses), software (forwarding between lcores by the inner addresses), none, or "
              "auto (software if several lcores receive).");
  visitor.Key("mbufs", Within<uint32_t>{config.mbufs, 0, 1u << 24},
              "Number of mbufs in the pool of each port. 0: as many as its queues need. Increase "
              "it if the port misses frames in bursts.");
}

template <typename Visitor>
void VisitKeys(UdpConfig& config, Visitor& visitor) {
  visitor.Key("int", config.int_reports,
              "UDP addresses on which to receive INT telemetry reports (version 2.0), for example "
              "127.0.0.1:32766.");
  visitor.Key("sflow", config.sflow,
              "UDP addresses on which to receive sFlow version 5, for example 127.0.0.1:6343.");
  visitor.Key(
      "senders", config.senders,
      "Source addresses or prefixes, for example 10.0.0.0/24, from which INT reports and "
      "sFlow are accepted, in addition to the addresses of switches in the topology "
      "(sflow_agent, erspan_source). Such a sender may report for any switch of the topology. "
      "Add the management network if switches send from there. Default: []; without a "
      "topology, [] accepts any sender.");
  visitor.Key("buffer", Bytes{config.buffer, uint64_t{1} << 16, uint64_t{1} << 30},
              "Size of the kernel's receive buffer in bytes, for each socket. Increase it if the "
              "kernel drops datagrams in bursts.");
}

// These keys are siblings of `listen`; they have no map of their own.
template <typename Visitor>
void VisitKeys(TlsConfig& config, Visitor& visitor) {
  visitor.Key("certificate", config.certificate, "PEM file with the appliance's own certificate.");
  visitor.Key("key", Secret{config.key}, "PEM file with the certificate's private key.");
  visitor.Key("client_ca", config.client_ca,
              "PEM file with the CA that signs client certificates.");
  visitor.Key(
      "crl", config.crl,
      "PEM file with certificate revocation lists that are signed by the CA in client_ca. Clients "
      "with a revoked certificate are refused. The appliance reads certificate, key, "
      "client_ca and crl again when one of them changes. Default: no revocation lists.");
}

template <typename Visitor>
void VisitKeys(TokenConfig& config, Visitor& visitor) {
  visitor.Key(
      "name", config.name,
      "Name of the client, for example of a user or a program. Default: \"token 1\" for the "
      "first token.");
  visitor.Key("sha256", Secret{config.sha256},
              "Required: SHA-256 digest of the token (64 hexadecimal digits).");
  visitor.Key("role", OneOf<TokenRole>{config.role, kTokenRoleWords},
              "Role of the client: viewer (reads everything), operator, or tenant (reads only data "
              "of the jobs of `users`).");
  visitor.Key("users", config.users,
              "Only for tenants, and required for them: users of the scheduler, as in registered "
              "jobs, whose jobs the client may read.");
}

template <typename Visitor>
void VisitKeys(HttpConfig& config, Visitor& visitor) {
  visitor.Key(
      "listen", AddressOrNone{config.listen},
      "Address to listen on, or none. Any address other than loopback requires certificate, "
      "key and client_ca, and clients need a certificate whose name is in viewers, "
      "schedulers, operators or tenants of `grpc`.");
  VisitKeys(config.tls, visitor);
  visitor.Key(
      "names", config.names,
      "Additional host names that are accepted in the Host header, for example "
      "appliance.example.org. IP addresses of this host and localhost are always accepted.");
  visitor.Key(
      "tokens", config.tokens,
      "Tokens of clients. Each request must contain one of them in the header `Authorization: "
      "Bearer TOKEN`. Use tokens for a listener on loopback behind a proxy that terminates TLS. "
      "An element is a mapping, or a digest alone (the key `sha256`), which grants the role "
      "`viewer`. `openssl rand -hex 32 > token` creates a token, and `head -c 64 token | "
      "sha256sum` prints its digest. Default: no token is required.");
  visitor.Key(
      "health_listen", AddressOrNone{config.health_listen},
      "Additional loopback address, for example 127.0.0.1:8081, for health checks on this "
      "host. It serves only the state, at /api/v1/health, /healthz, /livez and /readyz, and "
      "requires neither a token nor a certificate. Use it for probes and for `rocescope "
      "healthcheck` in a container if `listen` requires one. The port must differ from those "
      "of `listen` and `grpc.listen`. Default: none.");
  visitor.Key(
      "external_url", config.external_url,
      "URL at which operators open the dashboard, for example "
      "https://rocescope.example.org. Alerts link to it, and its host name is accepted in the "
      "Host header. Default: empty, so that alerts have no link to the dashboard.");
}

template <typename Visitor>
void VisitKeys(TenantConfig& config, Visitor& visitor) {
  visitor.Key("name", config.name, "Required: certificate name of the client.");
  visitor.Key("users", config.users,
              "Required: scheduler users (as in registered jobs) whose jobs the client may read.");
}

template <typename Visitor>
void VisitKeys(GrpcConfig& config, Visitor& visitor) {
  visitor.Key("listen", config.listen,
              "Addresses to listen on. Any address other than loopback requires certificate, key "
              "and client_ca. []: disabled.");
  VisitKeys(config.tls, visitor);
  visitor.Key("viewers", config.viewers,
              "Certificate names (DNS SANs, else the common name) that are granted the role "
              "`viewer`: read access.");
  visitor.Key(
      "schedulers", config.schedulers,
      "Certificate names that are granted the role `scheduler`: read access and job registration.");
  visitor.Key("operators", config.operators,
              "Certificate names that are granted the role `operator`: all calls.");
  visitor.Key("agents", config.agents,
              "Certificate names that are granted the role `agent`. \"*.gpu.example\" matches any "
              "first label. An agent may report only for a host that its certificate names (see "
              "`agents`).");
  visitor.Key(
      "tenants", config.tenants,
      "Clients that are granted the role `tenant`, over gRPC and HTTP: they may read data of "
      "their own jobs, and the findings that affect these jobs. Default: none.");
}

template <typename Visitor>
void VisitKeys(AgentsConfig& config, Visitor& visitor) {
  visitor.Key("domains", config.domains,
              "DNS domains that hosts may omit from their names. With [gpu.example], an agent with "
              "the certificate name gpu-7.gpu.example may also report as gpu-7. Default: none, the "
              "reported host name must equal a certificate name.");
  visitor.Key("any_host", config.any_host,
              "Certificate names of agents that may report for any host.");
  visitor.Key("max_hosts", Within<uint32_t>{config.most, 1, 65'536},
              "Maximum number of hosts whose agents may report. When it is reached, a host of the "
              "topology replaces one outside it. Other hosts are rejected.");
  visitor.Key("max_bytes_per_second",
              Bytes{config.bytes_per_second, uint64_t{16} << 10, uint64_t{1} << 30},
              "Maximum ingest rate for each agent certificate in bytes per second. Without "
              "certificates, and for any_host, the limit applies to each host. Excess data waits "
              "on the host: logs in their files, other data in the send buffer of the agent (key "
              "`buffer` of its configuration).");
  visitor.Key("queue", Bytes{config.queue, uint64_t{4} << 20, uint64_t{16} << 30},
              "Maximum memory in bytes for the queue of batches from all agents. Each certificate "
              "may use an eighth of it. Excess data waits on the hosts, as for "
              "max_bytes_per_second.");
  visitor.Key("silent_after",
              Within<Duration>{config.silent_after, std::chrono::seconds(1), std::chrono::hours(1)},
              "Time without a message after which an agent is reported as a problem.");
}

template <typename Visitor>
void VisitKeys(ScrapeTarget& config, Visitor& visitor) {
  visitor.Key("url", Url{config.url},
              "URL of the exporter, for example http://10.0.0.7:9400/metrics. Required.");
  visitor.Key(
      "node", config.node,
      "Name in the topology of the only node that this exporter may report for. Samples with "
      "a node label of another node are dropped, and `rocescope doctor` names them. Without "
      "`node`, each sample requires a node label, and the exporter is trusted to report for "
      "any node: omit it only for exporters that report for many nodes, such as a "
      "federated Prometheus server.");
  visitor.Key("period",
              Within<Duration>{config.period, std::chrono::milliseconds(10), std::chrono::hours(1)},
              "Scrape interval. It must not exceed analysis_window.");
}

template <typename Visitor>
void VisitKeys(MetricRule& config, Visitor& visitor) {
  visitor.Key("from", config.from, "Name of the exporter's metric. Required.");
  visitor.Key("metric", OneOf<Metric>{config.metric, kMetricWords},
              "Counter or gauge of rocescope to map it to, for example rx_bytes. Required.");
  visitor.Key("entity", OneOf<EntityKind>{config.entity, kEntityWords},
              "Kind of entity that the metric describes.");
  visitor.Key("node", config.node, "Label that contains the name of the switch or host.");
  visitor.Key("port", config.port, "Label that contains the name of the port or device.");
  visitor.Key("gpu", config.gpu, "Label that contains the GPU index.");
  visitor.Key("priority", config.priority,
              "Label that contains the priority. If the label is empty or missing, the value "
              "covers all priorities.");
  visitor.Key("scale", Within<uint64_t>{config.scale, 1, 1'000'000'000'000},
              "Factor by which values are multiplied, for example 1000000000 to convert seconds to "
              "nanoseconds.");
}

template <typename Visitor>
void VisitKeys(ScrapeConfig& config, Visitor& visitor) {
  visitor.Key("targets", config.targets, "Exporters of switches, hosts and GPUs to scrape.");
  visitor.Key(
      "rules", config.rules,
      "Mappings of exporter metrics to the counters and gauges of rocescope. Metrics with names "
      "like fabric_port_rx_bytes and the labels node, port, priority and gpu, and the "
      "metrics of dcgm-exporter, need no rule.");
}

template <typename Visitor>
void VisitKeys(HostFilesConfig& config, Visitor& visitor) {
  visitor.Key("nccl_logs", config.nccl_logs, "Files or directories with NCCL_DEBUG=INFO output.");
  visitor.Key("rdma", config.rdma,
              "Files or directories with the output of `rdma -j resource show qp`.");
  visitor.Key("slurm", config.slurm, "Files or directories with the output of `squeue --json`.");
}

template <typename Visitor>
void VisitKeys(HistoryConfig& config, Visitor& visitor) {
  constexpr Duration kLeast = std::chrono::hours(1);
  constexpr Duration kMost = std::chrono::hours(24 * 3650);
  visitor.Key("file", config.file,
              "SQLite database file for history. If it is a symbolic link, the lock file and the "
              "other files of SQLite are next to its target. Default: no history.");
  visitor.Key(
      "keep_events", Within<Duration>{config.keep_events, kLeast, kMost},
      "Retention time of faults and other events. Older events are deleted, at most 1/24 of "
      "the events per hour. Deletion by age is suspended while the clock differs by more "
      "than a day from the time that the history leads to; `rocescope doctor` reports this.");
  visitor.Key(
      "keep_series", Within<Duration>{config.keep_series, kLeast, kMost},
      "Retention time of the one-minute series of links and jobs, and of the results that requests "
      "with `at_time` return. Older data is deleted in the same way.");
  visitor.Key("max_bytes", Bytes{config.max_bytes, uint64_t{16} << 20, uint64_t{1} << 40},
              "Maximum size of the database on disk in bytes. When it is reached, the oldest "
              "series and results for `at_time` are deleted first, then the oldest events.");
}

template <typename Visitor>
void VisitKeys(MetricsConfig& config, Visitor& visitor) {
  visitor.Key(
      "max_links", Within<uint32_t>{config.max_links, 0, 1'000'000},
      "Maximum number of link directions that have time series of their own (six each). Link "
      "directions get series in the order in which they first carry traffic, and keep them until "
      "the appliance stops.");
  visitor.Key("max_jobs", Within<uint32_t>{config.max_jobs, 0, 100'000},
              "Maximum number of jobs that have time series of their own (five each).");
}

template <typename Visitor>
void VisitKeys(JobsConfig& config, Visitor& visitor) {
  visitor.Key(
      "file", config.file,
      "SQLite file in which registered jobs survive a restart of the appliance. Default: none, "
      "registrations are lost on restart.");
  visitor.Key("require_durable", config.require_durable,
              "Refuse a registration that cannot be stored in `file` within a second, for example "
              "because the disk is full. Requires `file`. Default: accept it; the response says "
              "that it is not durable.");
}

template <typename Visitor>
void VisitKeys(FindingsConfig& config, Visitor& visitor) {
  visitor.Key(
      "file", config.file,
      "SQLite file that keeps acknowledgements and mutes across restarts. Default: none; they are "
      "lost when the appliance restarts.");
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
              "Topology file of the fabric (see `rocescope topology`). Without it, there are no "
              "paths and no diagnosis.");
  visitor.Key(
      "user", config.user,
      "Unprivileged user to switch to after devices and ports are open (only when started as "
      "root). Default: keep the current user.");
  visitor.Key(
      "memory", Bytes{config.memory, uint64_t{512} << 20, uint64_t{4} << 40},
      "Memory budget in bytes. When three quarters are used, further flows are not analysed; the "
      "remaining quarter is reserved for answers. One million flows take about 2G without a "
      "topology, and up to 8G with one. A topology takes about 8K for each link, and should take "
      "at most half of the budget. Each 16K of the rest allow one series of counters (a metric of "
      "a port, NIC, GPU or host); readings of further series are refused. When three quarters of "
      "the budget are used, new series are refused beyond an eighth of that number. Health reports "
      "refused flows and series. The budget never exceeds three quarters of the physical memory. "
      "Lower it if MemoryMax of the service is lower.");
  visitor.Key(
      "sandbox", OneOf<SandboxMode>{config.sandbox, kSandboxWords},
      "auto: after devices and ports are open, give up unneeded privileges, and refuse system "
      "calls that the appliance does not need and files outside the directories that this "
      "configuration names, as far as the kernel supports it. off: no such restrictions. Change it "
      "only if the log names a denied system call that a device driver needs.");
  visitor.Key(
      "record_interval",
      Within<Duration>{config.record_interval, std::chrono::milliseconds(1),
                       std::chrono::seconds(4)},
      "Interval of flow records. A shorter interval increases the time resolution and the load.");
  visitor.Key(
      "analysis_window",
      Within<Duration>{config.analysis_window, std::chrono::milliseconds(1), std::chrono::hours(1)},
      "Length of an analysis window. Counters and congestion are evaluated for each window, and "
      "faults by comparing up to 256 windows. All results are recomputed at the end of each "
      "window. It must be at least the polling interval of counters: with SNMP or sFlow often 20 s "
      "or more.");
  visitor.Key("interfaces", config.interfaces,
              "Network interfaces to capture from through the kernel.");
  visitor.Key("dpdk", config.dpdk, "Ports to receive from through DPDK.");
  visitor.Key("udp", config.udp, "Telemetry that switches send to this host over UDP.");
  visitor.Key("scrape", config.scrape, "Prometheus exporters to scrape counters from.");
  visitor.Key("host_files", config.host_files,
              "Host data in files. They are read at startup and again on SIGHUP.");
  visitor.Key(
      "http", config.http,
      "Server of the dashboard, the HTTP API and Prometheus metrics. Short form: the listen "
      "address alone, `http: 127.0.0.1:8080` or `http: none`.");
  visitor.Key("grpc", config.grpc, "gRPC API for schedulers, operators and agents.");
  visitor.Key("agents", config.agents, "Limits for the data that host agents send over gRPC.");
  visitor.Key("history", config.history, "History of events, links and jobs on disk.");
  visitor.Key("jobs", config.jobs, "Jobs that schedulers register.");
  visitor.Key("findings", config.findings, "Findings that operators acknowledge or mute.");
  visitor.Key("metrics", config.metrics, "Limits of the metrics for Prometheus.");
  visitor.Key(
      "diagnosis", config.diagnosis,
      "Thresholds by which faults are detected. Change one only to suppress false alarms or "
      "to detect weaker faults.");
}

}  // namespace rocescope
