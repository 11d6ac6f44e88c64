// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/report/replay_report.h"
#include "appliance/common/report/telemetry_report.h"
#include "appliance/daemon/core/memory_text.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/service/doctor.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "base/count_text.h"
#include "base/utf8.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

// A source that used to receive and has been silent for this long is a problem.
constexpr Duration kSilent = std::chrono::seconds(30);
// Bytes of the problems of all agents in a list of sources. 4,096 agents could report 22 MB.
constexpr size_t kMaxAgentProblemBytes = size_t{1} << 20;

double SecondsOf(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

// Adds the problems that fit into `bytes_left`, which it reduces, and the number of the others.
void FillProblems(const SharedList<std::string>& problems, size_t& bytes_left, v1::HostAgent& out) {
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].size() > bytes_left) {
      out.add_problems(
          fmt::format("{} omitted, because the response is too large: see the log of the agent",
                      Counted(problems.size() - i, i == 0 ? "problem" : "further problem")));
      return;
    }
    bytes_left -= problems[i].size();
    out.add_problems(problems[i]);
  }
}

// `bytes_left`: as for FillProblems.
void FillAgent(const AgentState& agent, const NodeNames& nodes, size_t& bytes_left,
               v1::HostAgent& out) {
  out.set_host(agent.host);
  out.set_version(agent.version);
  out.set_peer_address(agent.peer);
  out.set_connected(agent.connected);
  out.set_stopped(agent.left);
  out.set_in_topology(!nodes.Find(agent.host).empty());
  *out.mutable_last_message_time() = TimestampMessage(agent.received_at);
  out.set_session_count(agent.sessions);
  out.set_connection_count(agent.connections);
  out.set_batches(agent.batches);
  out.set_bytes(agent.bytes);
  out.set_duplicate_batches(agent.duplicates);
  out.set_lost_batches(agent.lost_batches);
  out.set_lost_bytes(agent.lost_bytes);
  out.set_discarded_batches(agent.discarded_batches);
  out.set_buffered_bytes(agent.buffered_bytes);
  out.set_log_lines(agent.log_lines);
  out.set_dropped_log_lines(agent.log_lines_cut);
  if (agent.clock_ahead) {
    *out.mutable_clock_offset() = DurationMessage(*agent.clock_ahead);
    *out.mutable_clock_uncertainty() = DurationMessage(agent.clock_error);
  }
  FillProblems(agent.problems, bytes_left, out);
}

void FillSource(const SourceState& source, const NodeNames& nodes, v1::Source& out) {
  const SourceStatistics& counted = source.statistics;
  out.set_name(source.name);
  out.set_kind(EnumOf<v1::Source::Kind>(NameOf(source.kind)));
  for (const ListenAddress& address : source.listens) out.add_listen_addresses(ToString(address));
  FillLedger(counted.frames.ledger, *out.mutable_ledger());
  out.set_bytes(counted.bytes);
  out.set_missed_frames(counted.missed);
  out.set_records(counted.records);
  out.set_dropped_records(counted.records_dropped);
  out.set_open_flow_count(counted.flows_open);
  if (counted.received_any)
    *out.mutable_last_arrival_time() = TimestampMessage(counted.last_arrival);
  out.set_error(source.error);
  for (const std::string& trouble : source.problems) out.add_problems(trouble);
  for (const PortFindings& port : source.ports) FillPort(port, *out.add_dpdk_ports());
  size_t bytes_left = kMaxAgentProblemBytes;
  for (const AgentState& agent : source.agents) {
    FillAgent(agent, nodes, bytes_left, *out.add_agents());
  }
}

// Invalid UTF-8 in one problem would make the whole response invalid.
void FillProblem(const Problem& problem, v1::Problem& out) {
  out.set_kind(problem.kind);
  out.set_place(ReplaceInvalidUtf8(problem.place));
  out.set_sentence(ReplaceInvalidUtf8(problem.sentence));
  out.set_recommended_action(ReplaceInvalidUtf8(problem.recommended_action));
}

// In a large fabric some agents and exporters are always unreachable. That does not degrade the
// health of the appliance.
bool IsOfOthers(SourceKind kind) {
  return kind == SourceKind::kAgents || kind == SourceKind::kScrape;
}

// Snapshots exist even before anything was received. The service of a replay has no sources; its
// data is complete.
bool HasReceivedAny(const std::vector<SourceState>& sources) {
  return sources.empty() || std::ranges::any_of(sources, [](const SourceState& source) {
           return source.statistics.received_any;
         });
}

void FindProblems(const std::vector<SourceState>& sources, const Answer* answer, Duration window,
                  Timestamp started, Timestamp now, v1::Health& out) {
  bool any_arrival = false;
  for (const SourceState& source : sources) {
    const SourceStatistics& counted = source.statistics;
    any_arrival = any_arrival || counted.received_any;
    for (const std::string& trouble : source.problems) {
      IsOfOthers(source.kind) ? out.add_external_problems(trouble) : out.add_problems(trouble);
    }
    if (!source.error.empty()) {
      out.add_problems(source.error);
    } else if (source.kind != SourceKind::kAgents && counted.received_any &&
               now - counted.last_arrival > kSilent &&
               counted.last_arrival > started) {  // an earlier time is that of a capture file
      out.add_problems(fmt::format("{}: nothing received for {:.0f} s", source.name,
                                   SecondsOf(now - counted.last_arrival)));
    }
  }
  if (answer == nullptr) return;
  if (std::string lost = LossText(answer->loss); !lost.empty()) out.add_problems(std::move(lost));
  if (!any_arrival) return;
  const Duration late = now - answer->published_at;
  if (late > 10 * window + 2 * answer->took + std::chrono::seconds(5)) {
    out.add_problems(fmt::format("the last snapshot is {:.0f} s old: the analysis is too slow",
                                 SecondsOf(late)));
  }
}

// Sentences about a memory budget that is too small for the topology or the counters.
std::vector<std::string> MemoryProblems(const Answer* answer, const Daemon& daemon) {
  const uint64_t budget = daemon.memory_budget();
  std::vector<std::string> sentences = {TopologyMemoryText(daemon.topology_bytes(), budget)};
  if (answer != nullptr) {
    sentences.push_back(
        RefusedSeriesText(answer->snapshot->refused.metrics, answer->reached, budget));
  }
  std::erase(sentences, "");
  return sentences;
}

}  // namespace

Service::Service(Daemon& daemon, std::string version, HistoryStore* history, JobFile* jobs,
                 Notify notify, FindingFile* findings, Notify notify_findings)
    : daemon_(daemon),
      version_(std::move(version)),
      history_(history),
      job_file_(jobs),
      notify_(std::move(notify)),
      registry_(JobRegistry::LimitsFor(daemon.memory_budget())),
      reviews_(findings, WallClock, std::move(notify_findings)),
      views_(daemon.answers(), daemon.config().analysis_window),
      began_(FirstCursorOf(WallClock())),
      events_(began_),
      traffic_({.max_links = daemon.config().metrics.max_links,
                .max_jobs = daemon.config().metrics.max_jobs}) {
  if (job_file_ == nullptr || job_file_->found().empty()) return;
  for (const Allocation& job : job_file_->found()) registry_.Register(job);
  PublishAllocations();
}

ServiceResult<std::shared_ptr<const AnswerView>> Service::Answered() {
  std::shared_ptr<const AnswerView> answer = views_.Latest();
  if (answer) return answer;
  return Refuse(
      ServiceFault::kNoAnswerYet,
      "no snapshot yet: the first analysis window is not complete; try again in a few seconds");
}

ServiceResult<Service::Paged> Service::Page(ServiceResult<ListRequest> list) {
  if (!list) return tl::unexpected(list.error());
  if (!list->token) {
    auto answer = Answered();
    if (!answer) return tl::unexpected(answer.error());
    return Paged{.list = *std::move(list), .answer = *std::move(answer)};
  }
  const uint64_t version = list->token->version;
  auto answer = version > began_ ? views_.Of(version - began_) : nullptr;
  if (!answer) {
    return Refuse(ServiceFault::kPageForgotten,
                  "page_token: the snapshot of this list is no longer available; start again with "
                  "the first page");
  }
  return Paged{.list = *std::move(list), .answer = std::move(answer)};
}

ServiceResult<std::shared_ptr<const AnswerView>> Service::AnsweredWithTopology() {
  if (const auto there = NeedTopology(); !there) return tl::unexpected(there.error());
  return Answered();
}

ServiceStatus Service::NeedTopology() const {
  if (daemon_.fabric()) return {};
  return Refuse(ServiceFault::kNoTopology,
                "the appliance has no topology: set the key `topology` in its configuration");
}

OwnJobs Service::OwnJobsOf(const Caller& caller, const AnswerView& answer) const {
  OwnJobs own(caller, daemon_.fabric().get(), daemon_.node_names());
  if (own.AreAll()) return own;
  const auto& jobs = answer.jobs().jobs();
  for (int i = 0; i < jobs.size(); ++i) {
    const v1::Job& job = jobs[i];
    const v1::Allocation* const allocation = job.has_allocation() ? &job.allocation() : nullptr;
    if (!own.Add(job.job_id(), allocation, static_cast<size_t>(i))) continue;
    const std::optional<Timestamp> start = StartOf(&answer.snapshot(), *allocation);
    if (start) own.SetStart(job.job_id(), *start);
    const auto registered = registry_.Find(allocation->scheduler_job_id());
    // Its hosts may belong to somebody else now.
    if (registered && registered->state == AllocationState::kEnded) continue;
    for (const v1::Rank& rank : job.ranks()) own.AddHost(rank.host());
    if (!registered || !own.IsUser(registered->user)) continue;
    for (const AllocatedNode& node : registered->nodes) own.AddHost(node.name);
  }
  return own;
}

std::optional<Timestamp> Service::StartOf(const Snapshot* snapshot,
                                          const v1::Allocation& job) const {
  const auto is_same = [&](const Allocation& one) {
    return one.id == job.scheduler_job_id() && one.user == job.user();
  };
  if (snapshot != nullptr) {
    const std::vector<Allocation>& all = snapshot->host_facts->allocations;
    const auto at = std::ranges::lower_bound(all, job.scheduler_job_id(), {}, &Allocation::id);
    if (at != all.end() && is_same(*at) && at->start) return at->start;
  }
  const std::optional<Allocation> registered = registry_.Find(job.scheduler_job_id());
  return registered && is_same(*registered) ? registered->start : std::nullopt;
}

ServiceResult<std::string> Service::JobIdOf(const Snapshot& snapshot, const OwnJobs& own,
                                            const std::string& name) const {
  if (name.empty()) return std::string();
  const auto found = FindJob(snapshot, own, name);
  if (!found) return tl::unexpected(NoSuchJob(own, name));
  return snapshot.attribution->jobs[*found].job.id;
}

ServiceError Service::NoSuchJob(const OwnJobs& own, std::string_view name) const {
  const auto is_own = [&](const Allocation& job) { return own.IsUser(job.user); };
  if (registry_.Has(name, is_own)) {
    return {.fault = ServiceFault::kNoDataYet,
            .message = fmt::format(
                "job \"{}\" is registered, but no packet of it has been observed: try again later",
                name)};
  }
  return {.fault = ServiceFault::kUnknownJob,
          .message = fmt::format(
              "no unique job \"{}\": expected the id, number or name of a job in the list of jobs",
              name)};
}

ServiceStatus Service::NeedJob(const Caller& caller, const std::string& job_id) {
  if (caller.MayReadAll() || !job_id.empty()) return {};
  return Refuse(ServiceFault::kNotAllowed,
                "job_id: clients with the role tenant must set it to one of their own jobs");
}

void Service::SetReloadProblem(std::string problem) {
  std::ranges::replace(problem, '\n', ' ');  // on one line
  const std::lock_guard lock(reload_mutex_);
  reload_problem_ = std::move(problem);
}

void Service::SetCertificates(std::vector<CertificateState> certificates) {
  const std::lock_guard lock(reload_mutex_);
  certificates_ = std::move(certificates);
}

std::vector<CertificateState> Service::certificates() const {
  const std::lock_guard lock(reload_mutex_);
  return certificates_;
}

namespace {

// At most a few sentences about certificates that expire soon or could not be reloaded.
void AddCertificateProblems(const std::vector<CertificateState>& certificates, Timestamp now,
                            v1::Health& out) {
  constexpr Duration kDay = std::chrono::hours(24);
  for (const CertificateState& one : certificates) {
    if (!one.problem.empty()) {
      out.add_problems(fmt::format("the changed certificates of `{}` are not in effect: {}",
                                   one.server, one.problem));
    }
    if (one.expires_at <= now) {
      out.add_problems(fmt::format(
          "a certificate of `{}` (certificate or client_ca) has expired: replace its files",
          one.server));
    } else if (one.renew_by < now) {
      out.add_problems(fmt::format(
          "a certificate of `{}` (certificate or client_ca) expires in {} days: replace its files",
          one.server, (one.expires_at - now) / kDay));
    }
    if (one.crl_due && *one.crl_due < now) {
      out.add_problems(fmt::format(
          "the revocation lists of `{}` are out of date: replace the file of the key `crl`",
          one.server));
    }
  }
}

}  // namespace

ServiceStatus Service::GetHealth(const Caller& caller, const v1::GetHealthRequest&,
                                 v1::Health& out) {
  const Timestamp now = WallClock();
  const auto answer = views_.Latest();
  const std::vector<SourceState> sources = daemon_.Sources();
  FindProblems(sources, answer ? &answer->answer() : nullptr, daemon_.config().analysis_window,
               daemon_.started_at(), now, out);
  if (const auto refused = RecentlyRefused(daemon_.LastSenders(), now); !refused.empty()) {
    out.add_external_problems(
        fmt::format("telemetry from {} is ignored; run `rocescope doctor` to list the senders",
                    Counted(refused.size(), "unknown sender")));
  }
  if (const auto foreign = RecentlyForeign(sources, now); !foreign.empty()) {
    out.add_external_problems(
        fmt::format("samples of unexpected nodes from {} are ignored; run `rocescope doctor` to "
                    "list the exporters",
                    Counted(foreign.size(), "exporter")));
  }
  if (const auto losing = LosingAgents(sources, now); !losing.empty()) {
    out.add_external_problems(fmt::format(
        "agent of {}{}: batches were dropped because the send buffer was full; run `rocescope "
        "doctor` for the recommended action",
        losing.front().host,
        losing.size() > 1 ? fmt::format(" and {} more", losing.size() - 1) : ""));
  }
  if (answer && answer->answer().is_memory_full) {
    out.add_problems(fmt::format(
        "three quarters of the memory budget of {} are used: {} records of further flows were not "
        "analysed; increase the key `memory`, or divide the switches and hosts among appliances",
        FormatBytes(daemon_.memory_budget()),
        WithThousands(answer->answer().snapshot->refused.flows)));
  }
  for (std::string& text : MemoryProblems(answer ? &answer->answer() : nullptr, daemon_)) {
    out.add_problems(std::move(text));
  }
  if (history_ != nullptr) {
    if (const std::string problem = history_->counts().problem; !problem.empty()) {
      out.add_problems(fmt::format("the history is not written: {}", problem));
    }
    if (const std::string text = SuspensionText(history_->counts().retention); !text.empty()) {
      out.add_problems(fmt::format("history: {}", text));
    }
  }
  if (job_file_ != nullptr) {
    if (const std::string problem = job_file_->problem(); !problem.empty()) {
      out.add_problems(fmt::format("registered jobs are not saved: {}", problem));
    }
    for (const std::string& loss : job_file_->losses()) {
      out.add_external_problems(
          fmt::format("registered jobs were lost when the appliance started: register running jobs "
                      "again: {}",
                      loss));
    }
  }
  if (const std::string problem = reviews_.problem(); !problem.empty()) {
    out.add_problems(fmt::format("acknowledgements and mutes are not saved: {}", problem));
  }
  for (const std::string& loss : reviews_.losses()) {
    out.add_external_problems(
        fmt::format("acknowledgements and mutes were lost when the appliance started: set them "
                    "again: {}",
                    loss));
  }
  AddCertificateProblems(certificates(), now, out);
  {
    const std::lock_guard lock(reload_mutex_);
    if (!reload_problem_.empty()) {
      out.add_problems(fmt::format("the last reload failed: {}", reload_problem_));
    }
  }
  for (const std::string& sentence : missing_restrictions_) {
    out.add_external_problems(fmt::format("the appliance is not fully sandboxed: {}", sentence));
  }
  out.set_state(!out.problems().empty()             ? v1::Health::STATE_DEGRADED
                : answer && HasReceivedAny(sources) ? v1::Health::STATE_SERVING
                                                    : v1::Health::STATE_WAITING);
  out.set_version(version_);
  *out.mutable_start_time() = TimestampMessage(daemon_.started_at());
  *out.mutable_current_time() = TimestampMessage(now);
  if (answer) {
    answer->FillMetadata(*out.mutable_snapshot());
    *out.mutable_analysis_duration() = DurationMessage(answer->answer().took);
  }
  out.set_has_topology(daemon_.fabric() != nullptr);
  OwnJobs(caller, nullptr, daemon_.node_names()).Restrict(out);
  return {};
}

ServiceStatus Service::ListSources(const Caller&, const v1::ListSourcesRequest& in,
                                   v1::ListSourcesResponse& out) {
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  std::vector<SourceState> sources = daemon_.Sources();
  std::ranges::sort(sources, {}, &SourceState::name);
  const auto fill = [&](uint64_t i, v1::Source& source) {
    FillSource(sources[i], daemon_.node_names(), source);
  };
  return FillPage(*list, 0, sources.size(), fill, *out.mutable_sources(), out);
}

ServiceStatus Service::ListProblems(const Caller&, const v1::ListProblemsRequest& in,
                                    v1::ListProblemsResponse& out) {
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const auto answer = views_.Latest();
  if (answer) answer->FillMetadata(*out.mutable_snapshot());
  std::optional<HistoryHealth> history;
  if (history_ != nullptr) {
    history = {.file = history_->file(), .counts = history_->counts()};
  }
  const DoctorInput input = {
      .sources = daemon_.Sources(),
      .senders = daemon_.LastSenders(),
      .answer = answer ? &answer->snapshot() : nullptr,
      .started = daemon_.started_at(),
      .now = WallClock(),
      .history = std::move(history),
      .memory = MemoryProblems(answer ? &answer->answer() : nullptr, daemon_)};
  const std::vector<Problem> problems = Doctor(input);
  const auto fill = [&](uint64_t i, v1::Problem& problem) { FillProblem(problems[i], problem); };
  return FillPage(*list, 0, problems.size(), fill, *out.mutable_problems(), out);
}

}  // namespace rocescope
