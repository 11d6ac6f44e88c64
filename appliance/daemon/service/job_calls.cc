// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/job/job_nodes.h"
#include "appliance/api/message_value.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/node_uses.h"
#include "appliance/daemon/service/service.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/check.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

// Allows for clock differences and for scripts with a resolution of seconds.
constexpr Duration kClockTolerance = std::chrono::minutes(1);

// Checks that the time `over` of `field` is not before the start of the job.
ServiceStatus CheckOver(std::string_view field, Timestamp over, Timestamp start) {
  if (over >= start - kClockTolerance) return {};
  return RefuseFields(
      {field}, fmt::format("{} is before the start of the job ({})", ToText(TimestampMessage(over)),
                           ToText(TimestampMessage(start))));
}

// Returns the nodes without duplicates. A node that occurs twice gets the GPUs of both entries.
std::vector<AllocatedNode> NodesOf(const v1::RegisterJobRequest& request) {
  std::vector<AllocatedNode> nodes;
  std::map<std::string_view, size_t> places;
  for (const v1::JobNode& node : request.nodes()) {
    const auto [at, is_new] = places.try_emplace(node.node(), nodes.size());
    if (is_new) {
      nodes.push_back(
          {.name = node.node(), .gpus = {node.gpu_indexes().begin(), node.gpu_indexes().end()}});
      continue;
    }
    std::vector<uint32_t>& gpus = nodes[at->second].gpus;
    if (node.gpu_indexes().empty()) gpus.clear();  // no GPU list: all GPUs of the node
    if (!gpus.empty())
      gpus.insert(gpus.end(), node.gpu_indexes().begin(), node.gpu_indexes().end());
  }
  for (AllocatedNode& node : nodes) {
    std::ranges::sort(node.gpus);
    const auto same = std::ranges::unique(node.gpus);
    node.gpus.erase(same.begin(), same.end());
  }
  return nodes;
}

// Returns kNone if the topology has no such host.
topology::NodeIndex FindHost(const topology::Fabric& fabric, const NodeNames& names,
                             const std::string& name) {
  const auto is_host = [&](topology::NodeIndex one) { return !fabric.node(one).IsSwitch(); };
  const topology::NodeIndex node = fabric.FindNode(name);
  if (node != topology::kNone) return is_host(node) ? node : topology::kNone;
  const std::vector<topology::NodeIndex> found = names.Find(name);
  const auto at = std::ranges::find_if(found, is_host);
  return at == found.end() ? topology::kNone : *at;
}

// "host[0-3]:4-5", at most a few lists.
std::string ListOf(const std::vector<AllocatedNode>& nodes) {
  constexpr size_t kMost = 10;
  std::vector<std::string> lists = WriteJobNodes(nodes);
  const size_t count = lists.size();
  lists.resize(std::min(count, kMost));
  if (count > kMost) lists.push_back(fmt::format("and {} more", count - kMost));
  return fmt::format("{}", fmt::join(lists, " "));
}

// Checks that JobFile can store the job, and limits its size.
ServiceStatus CheckJob(const v1::RegisterJobRequest& request) {
  constexpr size_t kLongestText = 4096;
  if (request.scheduler_job_id() == 0 || request.nodes().empty()) {
    return RefuseFields({"scheduler_job_id", "nodes"},
                        "expected a job number greater than 0 and at least one node");
  }
  if (static_cast<size_t>(request.nodes_size()) > kMaxJobNodes ||
      std::max(request.name().size(), request.user().size()) > kLongestText) {
    return RefuseFields({"nodes", "name", "user"},
                        fmt::format("expected at most {} nodes, and a name and a user "
                                    "of at most {} bytes",
                                    kMaxJobNodes, kLongestText));
  }
  for (const v1::JobNode& node : request.nodes()) {
    if (!topology::IsNodeName(node.node())) {
      return RefuseFields(
          {"nodes"}, fmt::format("invalid node name \"{}\"; expand host lists before registration",
                                 node.node()));
    }
    if (std::ranges::any_of(node.gpu_indexes(),
                            [](uint32_t gpu) { return gpu >= kMaxGpuNumber; })) {
      return RefuseFields({"nodes"}, fmt::format("{}: GPU numbers must be less than {}",
                                                 node.node(), kMaxGpuNumber));
    }
  }
  if (const auto sound = CheckTime("start_time", request.start_time()); !sound) return sound;
  return CheckTime("limit_time", request.limit_time());
}

// `answer` may be null: no snapshot yet.
// `own`: null if there is no answer.
void FillRegistered(const Allocation& job, const AnswerView* answer, const OwnJobs* own,
                    v1::RegisteredJob& out) {
  out.set_scheduler_job_id(job.id);
  out.set_name(job.name);
  out.set_user(job.user);
  for (const AllocatedNode& node : job.nodes) {
    v1::JobNode& one = *out.add_nodes();
    one.set_node(node.name);
    one.mutable_gpu_indexes()->Add(node.gpus.begin(), node.gpus.end());
  }
  out.set_ended(job.state == AllocationState::kEnded);
  if (answer != nullptr) {
    const auto seen = FindJob(answer->snapshot(), *own, fmt::format("{}", job.id));
    if (seen) out.set_job_id(answer->snapshot().attribution->jobs[*seen].job.id);
  }
  if (job.start) *out.mutable_start_time() = TimestampMessage(*job.start);
  if (!job.end) return;
  if (out.ended()) {
    *out.mutable_end_time() = TimestampMessage(*job.end);
  } else {
    *out.mutable_limit_time() = TimestampMessage(*job.end);
  }
}

}  // namespace

ServiceStatus Service::ListJobs(const Caller& caller, const v1::ListJobsRequest& in,
                                v1::ListJobsResponse& out) {
  if (in.has_at_time()) return PastJobs(caller, in, out);
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  const OwnJobs own = OwnJobsOf(caller, answer);
  std::vector<size_t> jobs;
  for (size_t i = 0; i < answer.snapshot().attribution->jobs.size(); ++i) {
    if (own.Has(i)) jobs.push_back(i);
  }
  answer.FillMetadata(*out.mutable_snapshot());
  const auto fill = [&](uint64_t i, v1::JobSummary& job) {
    FillJobSummary(answer, jobs[i], job);
    own.Restrict(answer.findings().findings(), job);
  };
  return FillPage(page->list, PageVersion(answer), jobs.size(), fill, *out.mutable_jobs(), out);
}

ServiceStatus Service::GetJob(const Caller& caller, const v1::GetJobRequest& request,
                              v1::GetJobResponse& out) {
  if (request.has_at_time()) return PastJob(caller, request, out);
  const auto answer = Answered();
  if (!answer) return tl::unexpected(answer.error());
  const OwnJobs own = OwnJobsOf(caller, **answer);
  const auto job = FindJob((*answer)->snapshot(), own, request.job_id());
  if (!job) return tl::unexpected(NoSuchJob(own, request.job_id()));
  (*answer)->FillMetadata(*out.mutable_snapshot());
  *out.mutable_job() = (*answer)->jobs().jobs(static_cast<int>(*job));
  own.Restrict(*out.mutable_job());
  FillJobSummary(**answer, *job, *out.mutable_summary());
  own.Restrict((*answer)->findings().findings(), *out.mutable_summary());
  return {};
}

std::string Service::PublishAllocations() {
  constexpr auto kTimeout =
      std::chrono::seconds(1);  // hooks of schedulers usually time out after 2 s
  const uint64_t own = registry_.version();
  uint64_t version = 0;
  {
    const std::lock_guard lock(publish_mutex_);
    if (published_.registry < own) {
      published_.registry = registry_.version();  // read first: a later change is published again
      std::vector<Allocation> reported = registry_.Reported();
      daemon_.SetAllocations(reported);
      if (job_file_ != nullptr) published_.file = job_file_->Save(std::move(reported));
    }
    version = published_.file;
  }
  if (job_file_ == nullptr) return "the configuration of the appliance has no `jobs.file`";
  // Wait without the lock, so that concurrent callers share one write.
  if (job_file_->WaitFor(version, kTimeout)) return "";
  std::string problem = job_file_->problem();
  if (problem.empty()) problem = "writing the job file takes more than a second";
  return problem;
}

ServiceStatus Service::RequireDurable(const std::string& problem) const {
  if (problem.empty() || !daemon_.config().jobs.require_durable) return {};
  return Refuse(ServiceFault::kNotStored,
                fmt::format("the change cannot be stored on disk: {}; try again", problem));
}

void Service::CheckRegistered(const Allocation& job, v1::RegisterJobResponse& out) const {
  const auto warn = [&](const std::string& what) {
    notify_(Severity::kWarning, fmt::format("registered job {}: {}", job.id, what));
  };
  if (job.start && *job.start > WallClock() + kClockTolerance) {
    warn(fmt::format("the start time {} is in the future; the job counts as running from then on",
                     ToText(TimestampMessage(*job.start))));
  }
  const topology::Fabric* const fabric = daemon_.fabric().get();
  if (fabric == nullptr) return;
  std::vector<AllocatedNode> unknown_nodes;
  std::vector<AllocatedNode> unknown_gpus;
  for (const AllocatedNode& node : job.nodes) {
    const topology::NodeIndex host = FindHost(*fabric, daemon_.node_names(), node.name);
    if (host == topology::kNone) {
      out.add_unknown_nodes(node.name);
      unknown_nodes.push_back({.name = node.name});
    } else if (auto gpus = UnknownGpus(*fabric, host, node.gpus); !gpus.empty()) {
      unknown_gpus.push_back({.name = node.name, .gpus = std::move(gpus)});
    }
  }
  if (!unknown_nodes.empty()) {
    warn(
        fmt::format("the topology does not contain the nodes {}: this part of the job cannot be "
                    "observed",
                    ListOf(unknown_nodes)));
  }
  if (!unknown_gpus.empty()) {
    warn(fmt::format("the topology does not contain the GPUs {}", ListOf(unknown_gpus)));
  }
}

ServiceStatus Service::RegisterJob(const Caller&, const v1::RegisterJobRequest& request,
                                   v1::RegisterJobResponse& out) {
  if (const auto sound = CheckJob(request); !sound) return sound;
  // A retry without start_time keeps the start of the running job.
  const auto known = registry_.Find(request.scheduler_job_id());
  const bool is_running = known && known->start && known->state != AllocationState::kEnded;
  const Timestamp default_start = is_running ? *known->start : WallClock();
  Allocation job = {
      .id = request.scheduler_job_id(),
      .name = request.name(),
      .user = request.user(),
      .state_text = "RUNNING",
      .start = request.has_start_time() ? TimeOf(request.start_time()) : default_start};
  if (request.has_limit_time()) {
    const Timestamp limit = TimeOf(request.limit_time());
    if (const auto sound = CheckOver("limit_time", limit, *job.start); !sound) return sound;
    job.end = std::max(limit, *job.start);
  }
  job.nodes = NodesOf(request);
  if (job_file_ != nullptr) {
    // Refuse early, without a change, while writing is known to fail. JobFile retries the write.
    if (const auto stored = RequireDurable(job_file_->problem()); !stored) return stored;
  }
  const Result<uint64_t> registration = registry_.Register(job);
  if (!registration) {
    return Refuse(ServiceFault::kTooMany, registration.error().message);
  }
  out.set_storage_problem(PublishAllocations());
  if (const auto stored = RequireDurable(out.storage_problem()); !stored) {
    registry_.Undo(job.id, *registration, known);
    PublishAllocations();
    return stored;
  }
  out.set_durable(out.storage_problem().empty());
  CheckRegistered(job, out);
  return {};
}

ServiceStatus Service::EndJob(const Caller&, const v1::EndJobRequest& request,
                              v1::EndJobResponse& out) {
  if (const auto sound = CheckTime("end_time", request.end_time()); !sound) return sound;
  Timestamp end = request.has_end_time() ? TimeOf(request.end_time()) : WallClock();
  const auto job = registry_.Find(request.scheduler_job_id());
  if (job && job->start) {
    const auto sound = CheckOver("end_time", end, *job->start);
    if (!sound && request.has_end_time()) return sound;
    end = std::max(end, *job->start);
  }
  if (!registry_.End(request.scheduler_job_id(), end)) {
    return Refuse(ServiceFault::kUnknownJob,
                  fmt::format("job {} is not registered", request.scheduler_job_id()));
  }
  out.set_storage_problem(PublishAllocations());
  out.set_durable(out.storage_problem().empty());
  // The end is not undone: the job has ended.
  return RequireDurable(out.storage_problem());
}

ServiceStatus Service::GetRegisteredJob(const Caller& caller, const v1::GetRegisteredJobRequest& in,
                                        v1::RegisteredJob& out) {
  const auto job = registry_.Find(in.scheduler_job_id());
  if (!job || !(caller.MayReadAll() || caller.IsUser(job->user))) {
    return Refuse(ServiceFault::kUnknownJob,
                  fmt::format("job {} is not registered", in.scheduler_job_id()));
  }
  const auto answer = views_.Latest();
  std::optional<OwnJobs> own;
  if (answer) own.emplace(OwnJobsOf(caller, *answer));
  FillRegistered(*job, answer.get(), own ? &*own : nullptr, out);
  return {};
}

ServiceStatus Service::ListRegisteredJobs(const Caller& caller,
                                          const v1::ListRegisteredJobsRequest& in,
                                          v1::ListRegisteredJobsResponse& out) {
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const auto answer = views_.Latest();
  std::optional<OwnJobs> own;
  if (answer) own.emplace(OwnJobsOf(caller, *answer));
  const auto fill_job = [&](const Allocation& job, v1::RegisteredJob& one) {
    FillRegistered(job, answer.get(), own ? &*own : nullptr, one);
  };
  if (!in.filter().empty() || !in.order_by().empty() || !caller.MayReadAll()) {
    const std::vector<Allocation> jobs = registry_.Select([&](const Allocation& job) {
      return (in.show_ended() || job.state == AllocationState::kHeld) &&
             (caller.MayReadAll() || caller.IsUser(job.user));
    });
    const auto fill = [&](uint64_t i, v1::RegisteredJob& job) { fill_job(jobs[i], job); };
    return FillPage(*list, 0, jobs.size(), fill, *out.mutable_registered_jobs(), out);
  }
  // The offset is a job id, so that the position stays valid when jobs are added or removed.
  const uint32_t size = PageSize(in.page_size());
  const std::vector<Allocation> jobs = registry_.After(list->first(), in.show_ended(), size + 1);
  size_t count = 0;
  for (PageBytes bytes; count < std::min<size_t>(size, jobs.size()); ++count) {
    v1::RegisteredJob job;
    fill_job(jobs[count], job);
    if (!bytes.Add(job.ByteSizeLong())) break;
    *out.add_registered_jobs() = std::move(job);
  }
  out.set_total_size(static_cast<int32_t>(registry_.Count(in.show_ended())));
  if (jobs.size() > count) {
    out.set_next_page_token(ToText({.offset = jobs[count - 1].id, .request = list->hash}));
  }
  return {};
}

}  // namespace rocescope
