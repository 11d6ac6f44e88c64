// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/metrics/metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

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
    Add(name, help, MetricType::Counter, std::move(labels)).counter.value =
        static_cast<double>(value);
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

void AddBox(Service& service, Families& out) {
  out.Gauge("build_info", "Version of rocescope; always 1.", 1, {{"version", service.version()}});
  out.Gauge("start_time_seconds", "When the box began, since the epoch.",
            Seconds(ToNanoseconds(service.box().started_at())));
  out.Counter("events_total", "Events told: faults begun, over or taken back, sources that failed.",
              service.events().told());
}

// Sums: hosts are too many for series of their own.
void AddAgents(const std::vector<AgentState>& agents, Families& out) {
  double connected = 0;
  double left = 0;
  double lost = 0;
  for (const AgentState& agent : agents) {
    connected += agent.connected ? 1 : 0;
    left += agent.left ? 1 : 0;
    lost += static_cast<double>(agent.lost_batches);
  }
  const auto total = static_cast<double>(agents.size());
  constexpr const char* kHelp = "Hosts whose agent reports, has ended by itself, or is away.";
  out.Gauge("agents", kHelp, connected, {{"state", "connected"}});
  out.Gauge("agents", kHelp, left, {{"state", "left"}});
  out.Gauge("agents", kHelp, total - connected - left, {{"state", "away"}});
  out.Gauge("agents_lost_batches", "Batches that agents which run now gave up.", lost);
}

void AddSources(Service& service, Families& out) {
  for (const SourceState& source : service.box().Sources()) {
    const Labels labels = {{"source", source.name}, {"kind", std::string(NameOf(source.kind))}};
    const SourceStatistics& counted = source.statistics;
    const Ledger& ledger = counted.frames.ledger;
    out.Gauge("source_up", "1 as long as the source receives.", source.error.empty() ? 1 : 0,
              labels);
    out.Counter("source_received_frames_total",
                "Frames and datagrams received: decoded, filtered and dropped together.",
                ledger.received, labels);
    out.Counter("source_received_bytes_total", "Bytes of them.", counted.bytes, labels);
    out.Counter("source_decoded_frames_total", "Those that were decoded.", ledger.decoded, labels);
    out.Counter("source_filtered_frames_total", "Those that a filter left out.", ledger.filtered,
                labels);
    for (size_t i = 0; i < kDropReasonCount; ++i) {
      if (ledger.dropped[i] == 0) continue;
      Labels with_reason = labels;
      with_reason.emplace_back("reason", kDropReasons[i].name);
      out.Counter("source_dropped_frames_total", "Those that were not decoded, by reason.",
                  ledger.dropped[i], std::move(with_reason));
    }
    out.Counter(
        "source_missed_frames_total",
        "Frames and datagrams lost before rocescope saw them, as kernel or NIC had no room.",
        counted.missed, labels);
    out.Counter("source_records_total", "Records handed over for analysis.", counted.records,
                labels);
    out.Counter("source_records_dropped_total", "Records lost as analysis was slow.",
                counted.records_dropped, labels);
    out.Gauge("source_flows", "Flows in the source's table.", counted.flows_open, labels);
    if (counted.received_any) {
      out.Gauge("source_last_arrival_time_seconds", "When a frame came last, since the epoch.",
                Seconds(ToNanoseconds(counted.last_arrival)), labels);
    }
    if (source.kind == SourceKind::kAgents) AddAgents(source.agents, out);
  }
}

void AddHistory(const HistoryStore& history, Families& out) {
  const HistoryCounts counts = history.counts();
  out.Counter("history_written_rows_total", "Events and minutes written to the history's file.",
              counts.written);
  out.Counter("history_dropped_rows_total",
              "Those lost, as the disk was slow or full or the file broken.", counts.dropped);
  out.Counter("history_late_total",
              "Windows and answers that came when their minute was over, and are in none.",
              counts.late);
  out.Counter("history_errors_total", "Errors of the file.", counts.errors);
  out.Gauge("history_file_bytes", "Bytes of the file, with its log.",
            static_cast<double>(counts.file_bytes));
}

void AddAnswer(const AnswerView& view, Families& out) {
  const Answer& answer = view.answer();
  out.Counter("answers_total", "Answers worked out since the box began.", answer.version);
  out.Gauge("answer_time_seconds", "When the last answer was worked out, since the epoch.",
            Seconds(ToNanoseconds(answer.published_at)));
  out.Gauge("answer_reached_time_seconds", "Event time up to which it knows, since the epoch.",
            Seconds(ToNanoseconds(answer.reached)));
  out.Gauge("answer_duration_seconds", "How long it took.", Seconds(answer.took.count()));
  const Snapshot& snapshot = view.snapshot();
  out.Gauge("flows", "Directions of queue pairs that are known.",
            static_cast<double>(snapshot.flows->size()));
  std::array<size_t, 3> by_state{};
  for (const Connection& connection : *snapshot.connections) {
    ++by_state[static_cast<size_t>(connection.state)];
  }
  constexpr std::array<const char*, 3> kStates = {"paired", "ambiguous", "one_sided"};
  for (size_t i = 0; i < kStates.size(); ++i) {
    out.Gauge("connections", "Connections by what is known of their ends.",
              static_cast<double>(by_state[i]), {{"state", kStates[i]}});
  }
}

void AddJobs(const AnswerView& view, Families& out) {
  const auto count = view.snapshot().attribution->jobs.size();
  out.Gauge("jobs", "Jobs that are known.", static_cast<double>(count));
  std::vector<v1::JobSummary> jobs(count);
  for (size_t i = 0; i < count; ++i) FillJobSummary(view, i, jobs[i]);
  std::ranges::stable_sort(jobs, std::greater(), &v1::JobSummary::bytes);
  for (size_t i = 0; i < std::min(count, kMaxJobsTold); ++i) {
    const v1::JobSummary& job = jobs[i];
    const Labels labels = {{"job", job.id()}, {"name", job.allocation().name()}};
    out.Gauge("job_ranks", "Ranks of the job.", job.ranks(), labels);
    out.Counter("job_payload_bytes_total", "Bytes of payload that its ranks sent each other.",
                job.bytes(), labels);
    if (job.period_ns() > 0) {
      out.Gauge("job_iteration_seconds", "Length of an iteration.", Seconds(job.period_ns()),
                labels);
    }
    out.Gauge("job_findings", "Faults that hurt it now.", job.findings_size(), labels);
    out.Gauge("job_service_missed", "1 if one of its service levels is missed.",
              job.service() == "missed" ? 1 : 0, labels);
  }
}

void AddLinks(const AnswerView& view, const topology::Fabric& fabric, Families& out) {
  const LinkLoads& loads = *view.snapshot().link_loads;
  std::vector<LinkLoad> busiest = loads.loads;
  const auto use = [&](const LinkLoad& load) {
    const double bits =
        static_cast<double>(fabric.SpeedOf(load.port)) * Seconds(loads.window.count());
    // Windows of counters are a little longer or shorter than they say.
    return bits == 0 ? 0 : std::min(1.0, static_cast<double>(load.bytes) * 8 / bits);
  };
  std::ranges::stable_sort(busiest, std::greater(), use);
  if (busiest.size() > kMaxLinksTold) busiest.resize(kMaxLinksTold);
  for (const LinkLoad& load : busiest) {
    const Labels labels = {{"port", fabric.NameOf(load.port)}};
    if (load.source != LoadSource::kNone) {
      out.Gauge("link_use_ratio", "Load of the busiest links in the last analysis window.",
                use(load), labels);
    }
    out.Gauge("link_marked_packets", "CE marks there in that window.",
              static_cast<double>(load.marked), labels);
    out.Gauge("link_dropped_packets", "Packets without room there in that window.",
              static_cast<double>(load.dropped), labels);
    out.Gauge("link_paused_seconds", "Time that PFC held it in that window, over all priorities.",
              Seconds(load.paused.count()), labels);
  }
}

void AddFaults(const AnswerView& view, Families& out) {
  size_t told = 0;
  size_t active = 0;
  for (const v1::Finding& finding : view.findings().findings()) {
    if (finding.until_ns() != 0) continue;
    ++active;
    if (told++ >= kMaxFindingsTold) continue;
    out.Gauge(
        "finding_confidence_ratio", "Faults that last, and how sure each is.", finding.confidence(),
        {{"kind", finding.kind()}, {"place", finding.place()}, {"direction", finding.direction()}});
  }
  out.Gauge("findings", "Faults that last.", static_cast<double>(active));
  out.Gauge("hotspots", "Queues that filled up, of those that are remembered.",
            static_cast<double>(view.snapshot().congestion->hotspots.size()));
}

void AddServiceLevels(const AnswerView& view, Families& out) {
  for (const v1::ServiceIndicator& indicator :
       view.service_levels().service_levels().indicators()) {
    for (const auto& [state, count] :
         {std::pair("met", indicator.met()), std::pair("at_risk", indicator.at_risk()),
          std::pair("missed", indicator.missed()), std::pair("no_data", indicator.no_data())}) {
      out.Gauge("service_level_entities", "Entities by indicator and state of their service level.",
                static_cast<double>(count), {{"indicator", indicator.name()}, {"state", state}});
    }
  }
}

}  // namespace

std::string MetricsText(Service& service) {
  Families out;
  AddBox(service, out);
  AddSources(service, out);
  if (service.history() != nullptr) AddHistory(*service.history(), out);
  if (const auto view = service.views().Latest()) {
    AddAnswer(*view, out);
    AddJobs(*view, out);
    AddServiceLevels(*view, out);
    if (service.box().fabric()) {
      AddLinks(*view, *service.box().fabric(), out);
      AddFaults(*view, out);
    }
  }
  return prometheus::TextSerializer().Serialize(out.families());
}

}  // namespace rocescope
