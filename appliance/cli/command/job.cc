// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "analytics/job/job_nodes.h"
#include "appliance/api/message_value.h"
#include "appliance/cli/command/client_call.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/common/report/message_json.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "base/count_text.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

int64_t ToNs(uint64_t seconds) { return static_cast<int64_t>(seconds) * 1'000'000'000; }

// "host[0-3]:0-1"
std::string NodesOf(const v1::RegisteredJob& job) {
  std::vector<AllocatedNode> nodes;
  for (const v1::JobNode& node : job.nodes()) {
    nodes.push_back(
        {.name = node.node(), .gpus = {node.gpu_indexes().begin(), node.gpu_indexes().end()}});
  }
  return fmt::format("{}", fmt::join(WriteJobNodes(nodes), " "));
}

std::string TimeText(int64_t ns) { return ns == 0 ? "" : UtcDayAndTime(ns); }

std::string_view StateOf(const v1::RegisteredJob& job) {
  if (job.ended()) return "ended";
  return Nanoseconds(job.start_time()) > ToNanoseconds(WallClock()) ? "scheduled" : "running";
}

std::string ListText(const v1::ListRegisteredJobsResponse& listed) {
  if (listed.registered_jobs().empty()) return "No jobs are registered.\n";
  TextTable table({{.title = "JOB", .align = Align::kRight},
                   {.title = "NAME"},
                   {.title = "USER"},
                   {.title = "STATE"},
                   {.title = "START (UTC)"},
                   {.title = "END"},
                   {.title = "NODES"},
                   {.title = "DETECTED AS"}});
  for (const v1::RegisteredJob& job : listed.registered_jobs()) {
    table.Add({fmt::format("{}", job.scheduler_job_id()), job.name(), job.user(),
               std::string(StateOf(job)), TimeText(Nanoseconds(job.start_time())),
               TimeText(Nanoseconds(job.end_time())), NodesOf(job), job.job_id()});
  }
  return table.Render(0);
}

std::string ShowText(const v1::RegisteredJob& job, const v1::JobSummary* summary) {
  std::string text =
      fmt::format("job {} \"{}\"{}: {} on {}, {}\n", job.scheduler_job_id(), Visible(job.name()),
                  job.user().empty() ? "" : " of " + Visible(job.user()), StateOf(job),
                  Counted(static_cast<uint64_t>(job.nodes_size()), "node"), NodesOf(job));
  text += fmt::format(
      "from {} UTC{}\n", UtcDayAndTime(Nanoseconds(job.start_time())),
      job.ended() ? fmt::format(" until {}", UtcDayAndTime(Nanoseconds(job.end_time()))) : "");
  if (summary == nullptr) return text + "no packets of this job were observed\n";
  text += fmt::format("detected as {}: {} of {} ranks on {}, {}\n", Visible(summary->job_id()),
                      summary->logged_rank_count(), summary->expected_rank_count(),
                      Counted(summary->host_count(), "host"), HumanBytes(summary->bytes()));
  if (summary->has_iteration_period()) {
    text += fmt::format("iteration period {}\n",
                        HumanDuration(Nanoseconds(summary->iteration_period())));
  }
  if (!summary->straggler().empty()) {
    text += fmt::format("straggler: {}\n", Visible(summary->straggler()));
  }
  for (const std::string& finding : summary->finding_sentences()) {
    text += fmt::format("FAULT {}\n", Visible(finding));
  }
  return text;
}

template <typename Response>
void WarnNotDurable(uint64_t id, const Response& response) {
  if (response.durable()) return;
  Message(fmt::format("the change of job {} is lost if the appliance restarts: {}", id,
                      response.storage_problem().empty() ? "the appliance does not say why"
                                                         : Visible(response.storage_problem())));
}

}  // namespace

int RunJobRegister(const JobRegisterOptions& options) {
  v1::RegisterJobRequest request;
  request.set_scheduler_job_id(options.id);
  request.set_name(options.name);
  request.set_user(options.user);
  if (options.start_seconds != 0) {
    *request.mutable_start_time() = TimestampMessage(ToNs(options.start_seconds));
  }
  if (options.limit_seconds != 0) {
    *request.mutable_limit_time() = TimestampMessage(ToNs(options.limit_seconds));
  }
  for (const AllocatedNode& node : options.nodes) {
    v1::JobNode& one = *request.add_nodes();
    one.set_node(node.name);
    one.mutable_gpu_indexes()->Add(node.gpus.begin(), node.gpus.end());
  }
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::RegisterJobResponse response;
  if (const auto done = client->Register(request, response); !done) return FailCall(done.error());
  WarnNotDurable(options.id, response);
  if (!response.unknown_nodes().empty()) {
    const std::vector<std::string> unknown(response.unknown_nodes().begin(),
                                           response.unknown_nodes().end());
    std::vector<AllocatedNode> nodes;
    for (const std::string& name : unknown) nodes.push_back({.name = name});
    Message(
        fmt::format("the appliance's topology has no {}: this part of job {} cannot be observed",
                    fmt::join(WriteJobNodes(nodes), " "), options.id));
  }
  return kExitSuccess;
}

int RunJobEnd(const JobEndOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::EndJobResponse response;
  const auto done = client->End(options.id, ToNs(options.end_seconds), response);
  if (!done) return FailCall(done.error());
  WarnNotDurable(options.id, response);
  return kExitSuccess;
}

int RunJobList(const JobListOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::ListRegisteredJobsResponse listed;
  if (const auto done = client->ListRegistered(options.ended_too, listed); !done) {
    return FailCall(done.error());
  }
  if (options.format == ReportFormat::kText) return PrintAnswer(ListText(listed));
  std::string json;
  AppendJson(listed, true, json);
  return PrintAnswer(json + "\n");
}

int RunJobPlace(const JobPlaceOptions& options) {
  v1::RecommendNodesRequest request;
  request.set_node_count(options.nodes);
  request.set_gpu_count(options.gpus);
  request.set_gpus_per_node(options.gpus_per_node);
  request.set_scheduler_job_id(options.job);
  request.set_allow_missing_telemetry(options.without_telemetry);
  for (const std::string& list : options.candidates) request.add_candidate_nodes(list);
  for (const std::string& list : options.exclude) request.add_excluded_nodes(list);
  if (options.format == ReportFormat::kText) request.set_max_candidate_count(1);
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::RecommendNodesResponse ranked;
  if (const auto done = client->Rank(request, ranked); !done) return FailCall(done.error());
  std::string text;
  if (options.format == ReportFormat::kJson) {
    AppendJson(ranked, true, text);
    text += "\n";
  } else {
    Message(ranked.sentence());
    std::vector<AllocatedNode> nodes;
    for (const std::string& name : ranked.chosen_nodes()) nodes.push_back({.name = name});
    if (!nodes.empty()) text = fmt::format("{}\n", fmt::join(WriteJobNodes(nodes), ","));
  }
  if (const int printed = PrintAnswer(text); printed != kExitSuccess) return printed;
  return ranked.chosen_nodes().empty() ? kExitDamaged : kExitSuccess;
}

int RunJobShow(const JobShowOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::RegisteredJob job;
  if (const auto done = client->GetRegistered(options.id, job); !done)
    return FailCall(done.error());
  v1::GetJobResponse got;
  if (!job.job_id().empty()) {
    if (const auto done = client->Get(job.job_id(), got); !done) return FailCall(done.error());
  }
  const v1::JobSummary* const summary = got.has_summary() ? &got.summary() : nullptr;
  if (options.format == ReportFormat::kText) return PrintAnswer(ShowText(job, summary));
  std::string json = "{\"registered_job\":";
  AppendJson(job, false, json);
  if (summary != nullptr) {
    json += ",\"summary\":";
    AppendJson(*summary, false, json);
  }
  return PrintAnswer(json + "}\n");
}

}  // namespace rocescope
