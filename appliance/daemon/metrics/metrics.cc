// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/congestion/link_load.h"
#include "appliance/api/message_value.h"
#include "appliance/common/process/memory.h"
#include "appliance/common/process/system_call_filter.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/job_summary.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double Seconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

class Families {
 public:
  void Gauge(const std::string& name, const char* help, double value, Labels labels = {}) {
    Add(name, help, MetricType::Gauge, std::move(labels)).gauge.value = value;
  }
  void Counter(const std::string& name, const char* help, uint64_t value, Labels labels = {}) {
    Counter(name, help, static_cast<double>(value), std::move(labels));
  }
  void Counter(const std::string& name, const char* help, double value, Labels labels = {}) {
    Add(name, help, MetricType::Counter, std::move(labels)).counter.value = value;
  }
  const std::vector<MetricFamily>& families() const { return families_; }

 private:
  ClientMetric& Add(const std::string& name, const char* help, MetricType type, Labels labels) {
    const auto [at, is_new] = index_.try_emplace(name, families_.size());
    if (is_new) {
      families_.push_back({.name = "rocescope_" + name, .help = help, .type = type, .metric = {}});
    }
    ClientMetric& metric = families_[at->second].metric.emplace_back();
    for (auto& [key, value] : labels) metric.label.push_back({key, std::move(value)});
    return metric;
  }

  std::vector<MetricFamily> families_;  // in the order of their first series
  std::map<std::string, size_t> index_;
};

void AddDaemon(Service& service, Families& out) {
  out.Gauge("memory_budget_bytes",
            "Memory budget of the appliance: configuration key `memory`, at most three quarters of "
            "the physical memory.",
            static_cast<double>(service.daemon().memory_budget()));
  out.Gauge("resident_memory_bytes", "Physical memory that the appliance uses.",
            static_cast<double>(ResidentBytes()));
  out.Gauge("build_info", "Version of rocescope, as a label; always 1.", 1,
            {{"version", service.version()}});
  out.Gauge("start_time_seconds", "Start time of the appliance, in seconds since the Unix epoch.",
            Seconds(ToNanoseconds(service.daemon().started_at())));
  if (const std::string& url = service.daemon().config().http.external_url; !url.empty()) {
    out.Gauge("dashboard_info",
              "URL of the dashboard (configuration key http.external_url), as a label; always 1.",
              1, {{"url", url}});
  }
  for (const CertificateState& one : service.certificates()) {
    const auto seconds = [](Timestamp at) { return Seconds(ToNanoseconds(at)); };
    out.Gauge(
        "certificate_expiry_time_seconds",
        "Time at which the first certificate of the server (its own or the CA of its clients) "
        "expires, in seconds since the Unix epoch.",
        seconds(one.expires_at), {{"server", one.server}});
    out.Gauge("certificate_renew_by_time_seconds",
              "Time by which the first certificate of the server should be renewed, in seconds "
              "since the Unix epoch.",
              seconds(one.renew_by), {{"server", one.server}});
  }
  out.Counter("events_total",
              "Events published: faults started, resolved or withdrawn, and failed sources.",
              service.events().published());
  constexpr const char* kRefused =
      "HTTP requests, event streams and gRPC calls that were refused or cancelled because a limit "
      "of connections, streams or calls was reached.";
  out.Counter("refused_requests_total", kRefused, service.refusals().http, {{"server", "http"}});
  out.Counter("refused_requests_total", kRefused, service.refusals().grpc, {{"server", "grpc"}});
  out.Counter("denied_system_calls_total",
              "System calls of the appliance that its sandbox refused (key `sandbox`).",
              DeniedSystemCalls());
}

// Sums over all hosts, because a series for each host would be too many.
void AddAgents(const std::vector<AgentState>& agents, TrafficCounters& traffic, Families& out) {
  double connected = 0;
  double left = 0;
  std::map<std::string, uint64_t> dropped;
  for (const AgentState& agent : agents) {
    connected += agent.connected ? 1 : 0;
    left += agent.left ? 1 : 0;
    dropped[agent.host] = agent.lost_batches;
  }
  const auto total = static_cast<double>(agents.size());
  constexpr const char* kHelp =
      "Agents by state: connected, left (stopped on purpose) or away (connection lost).";
  out.Gauge("agents", kHelp, connected, {{"state", "connected"}});
  out.Gauge("agents", kHelp, left, {{"state", "left"}});
  out.Gauge("agents", kHelp, total - connected - left, {{"state", "away"}});
  traffic.AddAgents(std::move(dropped));
  out.Counter("agent_dropped_batches_total",
              "Batches that agents dropped because their buffers were full.",
              traffic.agent_lost_batches());
}

void AddSources(Service& service, Families& out) {
  for (const SourceState& source : service.daemon().Sources()) {
    const Labels labels = {{"source", source.name}, {"kind", std::string(NameOf(source.kind))}};
    const SourceStatistics& counted = source.statistics;
    const Ledger& ledger = counted.frames.ledger;
    out.Gauge("source_up", "Whether the source works (1) or has stopped with an error (0).",
              source.error.empty() ? 1 : 0, labels);
    out.Counter(
        "source_received_frames_total",
        "Frames and datagrams received by this source: the sum of decoded, filtered and dropped.",
        ledger.received, labels);
    out.Counter("source_received_bytes_total", "Bytes received by this source.", counted.bytes,
                labels);
    out.Counter("source_decoded_frames_total",
                "Frames and datagrams of this source that were decoded.", ledger.decoded, labels);
    out.Counter("source_filtered_frames_total",
                "Frames and datagrams of this source that a filter excluded.", ledger.filtered,
                labels);
    for (size_t i = 0; i < kDropReasonCount; ++i) {
      Labels with_reason = labels;
      with_reason.emplace_back("reason", kDropReasons[i].name);
      out.Counter("source_dropped_frames_total",
                  "Frames and datagrams of this source that were not decoded, by reason.",
                  ledger.dropped[i], std::move(with_reason));
    }
    out.Counter("source_missed_frames_total",
                "Frames and datagrams of this source that the kernel or NIC dropped because a "
                "buffer was full.",
                counted.missed, labels);
    out.Counter("source_records_total", "Records of this source passed to the analysis.",
                counted.records, labels);
    out.Counter("source_records_dropped_total",
                "Records of this source dropped because the analysis was too slow.",
                counted.records_dropped, labels);
    out.Gauge("source_flows", "Flows in the flow table of this source.", counted.flows_open,
              labels);
    if (counted.received_any) {
      out.Gauge("source_last_arrival_timestamp_seconds",
                "Time of the last frame of this source, in seconds since the Unix epoch.",
                Seconds(ToNanoseconds(counted.last_arrival)), labels);
    }
    if (source.kind == SourceKind::kAgents) AddAgents(source.agents, service.traffic(), out);
  }
}

void AddHistory(const HistoryStore& history, Families& out) {
  const HistoryCounts counts = history.counts();
  out.Counter(
      "history_written_rows_total",
      "Rows (events, one-minute values and results for at_time) written to the history file.",
      counts.written);
  out.Counter(
      "history_dropped_rows_total",
      "Rows not written to the history file because the disk was slow or full or the file damaged.",
      counts.dropped);
  out.Counter("history_late_windows_total",
              "Analysis windows and snapshots left out of the history because their minute was "
              "already written.",
              counts.late);
  out.Counter("history_errors_total",
              "Errors while writing the history file, and stored values that cannot be read.",
              counts.errors);
  constexpr const char* kDeleted =
      "Rows deleted from the history file, by reason: age (older than the retention time) or size "
      "(the file reached its maximum size).";
  out.Counter("history_deleted_rows_total", kDeleted, counts.retention.deleted_by_age,
              {{"reason", "age"}});
  out.Counter("history_deleted_rows_total", kDeleted, counts.retention.deleted_by_size,
              {{"reason", "size"}});
  out.Gauge("history_retention_suspended",
            "Whether deletion by age is suspended because the clock is not trusted (1) or not (0).",
            counts.retention.is_suspended ? 1 : 0);
  out.Gauge("history_file_bytes", "Size of the history file with its write-ahead log, in bytes.",
            static_cast<double>(counts.file_bytes));
}

void AddAnswer(const AnswerView& view, Families& out) {
  const Answer& answer = view.answer();
  out.Counter("snapshots_total", "Snapshots published by the analysis since the appliance started.",
              answer.version);
  out.Gauge("snapshot_published_timestamp_seconds",
            "Publication time of the last snapshot, in seconds since the Unix epoch.",
            Seconds(ToNanoseconds(answer.published_at)));
  out.Gauge(
      "snapshot_data_timestamp_seconds",
      "Event time up to which the last snapshot contains data, in seconds since the Unix epoch.",
      Seconds(ToNanoseconds(answer.reached)));
  out.Gauge("analysis_duration_seconds", "Duration of the last analysis pass in seconds.",
            Seconds(answer.took.count()));
  const Snapshot& snapshot = view.snapshot();
  out.Gauge(
      "telemetry_series",
      "Number of counter and gauge series in the analysis (one for each metric of each entity).",
      static_cast<double>(snapshot.refused.metrics.series));
  out.Counter(
      "refused_readings_total",
      "Counter readings refused because the memory budget (configuration key `memory`) does "
      "not allow further series.",
      snapshot.refused.metrics.series_refused);
  out.Gauge("flows", "Flows (one for each direction of a connection) in the last snapshot.",
            static_cast<double>(snapshot.flows->size()));
  std::array<size_t, 3> by_state{};
  for (const Connection& connection : *snapshot.connections) {
    ++by_state[static_cast<size_t>(connection.state)];
  }
  constexpr std::array<const char*, 3> kStates = {"paired", "ambiguous", "one_sided"};
  for (size_t i = 0; i < kStates.size(); ++i) {
    out.Gauge(
        "connections",
        "RoCE connections by state: paired (both queue pairs are known), ambiguous (there are "
        "candidates for the other queue pair, but none is certain enough) or one_sided (there "
        "is no candidate).",
        static_cast<double>(by_state[i]), {{"state", kStates[i]}});
  }
}

void AddJobs(const AnswerView& view, TrafficCounters& traffic, Families& out) {
  const auto count = view.snapshot().attribution->jobs.size();
  out.Gauge("jobs", "Jobs in the last snapshot.", static_cast<double>(count));
  std::vector<v1::JobSummary> jobs(count);
  std::set<std::string> current;
  for (size_t i = 0; i < count; ++i) {
    FillJobSummary(view, i, jobs[i]);
    current.insert(jobs[i].job_id());
  }
  traffic.KeepJobs(current);
  size_t omitted = 0;
  for (const v1::JobSummary& job : jobs) {
    const auto bytes = traffic.AddJob(job.job_id(), job.bytes());
    if (!bytes) {
      ++omitted;
      continue;
    }
    // Not "job", which Prometheus sets to the name of the scrape configuration.
    const Labels labels = {{"job_id", job.job_id()}, {"name", job.allocation().name()}};
    out.Gauge("job_ranks",
              "Number of ranks of this job according to its NCCL logs or the environment of its "
              "processes, including ranks that were not observed; 0 if unknown.",
              job.expected_rank_count(), labels);
    out.Counter("job_payload_bytes_total", "Payload bytes sent between the ranks of this job.",
                *bytes, labels);
    if (Nanoseconds(job.iteration_period()) > 0) {
      out.Gauge("job_iteration_period_seconds", "Iteration period of this job in seconds.",
                Seconds(Nanoseconds(job.iteration_period())), labels);
    }
    out.Gauge("job_findings", "Current faults that affect this job.", job.finding_sentences_size(),
              labels);
    out.Gauge("job_service_missed",
              "Whether this job misses one of its service levels (1) or not (0).",
              job.service_level_state() == v1::ServiceLevel::STATE_MISSED ? 1 : 0, labels);
  }
  out.Gauge("jobs_without_series",
            "Jobs without series of their own because the limit metrics.max_jobs is reached.",
            static_cast<double>(omitted));
}

void AddLinks(const AnswerView& view, const topology::Fabric& fabric, TrafficCounters& traffic,
              Families& out) {
  const auto links = traffic.Links();
  for (const auto& [port, link] : links) {
    const Labels labels = {{"port", fabric.NameOf(port)}};
    out.Counter("link_transmitted_bytes_total", "Bytes sent by this port, including headers.",
                link.bytes, labels);
    out.Counter("link_ce_marked_packets_total", "Packets CE-marked in the queues of this port.",
                link.marked, labels);
    out.Counter("link_dropped_packets_total", "Packets dropped from full queues of this port.",
                link.dropped, labels);
    out.Counter("link_error_frames_total",
                "Frames of this port that the port at the other end received with errors.",
                link.errors, labels);
    out.Counter("link_paused_seconds_total",
                "Time in seconds during which PFC paused this port, summed over priorities.",
                Seconds(link.paused.count()), labels);
  }
  const LinkLoads& loads = *view.snapshot().link_loads;
  for (const LinkLoad& load : loads.loads) {
    if (!links.contains(load.port)) continue;
    if (const auto use = UtilizationOf(fabric, load, loads.window)) {
      out.Gauge("link_utilization_ratio",
                "Utilisation of this link direction in the last analysis window, from 0 to 1.",
                *use, {{"port", fabric.NameOf(load.port)}});
    }
  }
  out.Gauge("links_without_series",
            "Link directions without series of their own because the limit metrics.max_links is "
            "reached.",
            static_cast<double>(traffic.omitted_links()));
  out.Counter("link_missed_windows_total",
              "Analysis windows that the link counters do not include because the analysis was too "
              "slow to publish a snapshot for each window.",
              traffic.missed_windows());
}

const char* NameOf(v1::Finding::Severity severity) {
  switch (severity) {
    case v1::Finding::SEVERITY_CRITICAL:
      return "critical";
    case v1::Finding::SEVERITY_WARNING:
      return "warning";
    default:
      return "info";
  }
}

void AddFaults(const AnswerView& view, const FindingReviews& reviews, Families& out) {
  size_t reported = 0;
  size_t active = 0;
  size_t muted = 0;
  for (const v1::Finding& finding : view.findings().findings()) {
    if (finding.has_end_time()) continue;
    ++active;
    const bool is_muted = reviews.IsMuted(finding);
    muted += is_muted ? 1 : 0;
    if (reported++ >= kMaxFindingsReported) continue;
    const Labels labels = {{"kind", finding.kind()},
                           {"place", finding.place()},
                           {"direction", finding.direction()},
                           {"severity", NameOf(finding.severity())}};
    out.Gauge("finding_confidence_ratio",
              "Confidence of the finding about this ongoing fault, with its severity (critical or "
              "warning) as a label.",
              finding.confidence(), labels);
    out.Gauge("finding_muted",
              "Whether an operator has muted the finding about this ongoing fault (1) or not (0). "
              "Each series of rocescope_finding_confidence_ratio has one with the same labels.",
              is_muted ? 1 : 0, labels);
  }
  out.Gauge("findings", "Ongoing faults, including muted ones.", static_cast<double>(active));
  out.Gauge("muted_findings", "Ongoing faults that an operator has muted.",
            static_cast<double>(muted));
  out.Gauge("hotspots", "Ongoing and recent hotspots (congested queues) in the last snapshot.",
            static_cast<double>(view.snapshot().congestion->hotspots.size()));
}

void AddServiceLevels(const AnswerView& view, Families& out) {
  for (const v1::ServiceIndicator& indicator :
       view.service_levels().service_levels().indicators()) {
    for (const auto& [state, count] :
         {std::pair("met", indicator.met_count()), std::pair("at_risk", indicator.at_risk_count()),
          std::pair("missed", indicator.missed_count()),
          std::pair("no_data", indicator.no_data_count())}) {
      out.Gauge("service_level_entities",
                "Number of jobs, GPUs, NICs or switch ports for each service level indicator, by "
                "state: met, at_risk, missed or no_data.",
                static_cast<double>(count), {{"indicator", indicator.name()}, {"state", state}});
    }
  }
}

}  // namespace

std::string MetricsText(Service& service) {
  Families out;
  AddDaemon(service, out);
  AddSources(service, out);
  if (service.history() != nullptr) AddHistory(*service.history(), out);
  if (const auto view = service.views().Latest()) {
    AddAnswer(*view, out);
    AddJobs(*view, service.traffic(), out);
    AddServiceLevels(*view, out);
    if (service.daemon().fabric()) {
      AddLinks(*view, *service.daemon().fabric(), service.traffic(), out);
      AddFaults(*view, service.reviews(), out);
    }
  }
  return prometheus::TextSerializer().Serialize(out.families());
}

}  // namespace rocescope
