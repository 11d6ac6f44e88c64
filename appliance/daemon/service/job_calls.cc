// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/job/host_name.h"
#include "analytics/job/job_nodes.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/service.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/check.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

Timestamp TimeOrNow(int64_t ns) { return ns == 0 ? WallClock() : FromNanoseconds(ns); }

ServiceStatus CheckTime(std::string_view field, int64_t ns) {
  if (ns >= 0 && FromNanoseconds(ns) <= kLatestTime) return {};
  return RefuseFields(
      {field}, fmt::format("invalid time {}: expected nanoseconds since the Unix epoch, 0 to {}",
                           ns, ToNanoseconds(kLatestTime)));
}

// Checks that the time `over` of `field` is not before the start of the job. One minute of
// tolerance allows for clock differences and for scripts with a resolution of seconds.
ServiceStatus CheckOver(std::string_view field, Timestamp over, Timestamp start) {
  constexpr Duration kApart = std::chrono::minutes(1);
  if (over >= start - kApart) return {};
  return RefuseFields({field}, fmt::format("{} is before the start of the job ({})",
                                           ToNanoseconds(over), ToNanoseconds(start)));
}

// Returns the nodes without duplicates. A node that occurs twice gets the GPUs of both entries.
std::vector<AllocatedNode> NodesOf(const v1::RegisterJobRequest& request) {
  std::vector<AllocatedNode> nodes;
  std::map<std::string_view, size_t> places;
  for (const v1::JobNode& node : request.nodes()) {
    const auto [at, is_new] = places.try_emplace(node.name(), nodes.size());
    if (is_new) {
      nodes.push_back({.name = node.name(), .gpus = {node.gpus().begin(), node.gpus().end()}});
      continue;
    }
    std::vector<uint32_t>& gpus = nodes[at->second].gpus;
    if (node.gpus().empty()) gpus.clear();  // no GPU list: all GPUs of the node
    if (!gpus.empty()) gpus.insert(gpus.end(), node.gpus().begin(), node.gpus().end());
  }
  for (AllocatedNode& node : nodes) {
    std::ranges::sort(node.gpus);
    const auto same = std::ranges::unique(node.gpus);
    node.gpus.erase(same.begin(), same.end());
  }
  return nodes;
}

bool HasHost(const topology::Fabric& fabric, const std::string& name) {
  const topology::NodeIndex node = fabric.FindNode(name);
  if (node != topology::kNone) return !fabric.node(node).IsSwitch();
  return std::ranges::any_of(fabric.nodes(), [&](const topology::Node& one) {
    return !one.IsSwitch() && SameHost(one.name, name);
  });
}

// Checks that JobFile can store the job, and limits its size.
ServiceStatus CheckJob(const v1::RegisterJobRequest& request) {
  constexpr size_t kLongestText = 4096;
  if (request.id() == 0 || request.nodes().empty()) {
    return RefuseFields({"id", "nodes"},
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
    if (!topology::IsNodeName(node.name())) {
      return RefuseFields(
          {"nodes"}, fmt::format("invalid node name \"{}\"; expand host lists before registration",
                                 node.name()));
    }
    if (std::ranges::any_of(node.gpus(), [](uint32_t gpu) { return gpu >= kMaxGpuNumber; })) {
      return RefuseFields({"nodes"}, fmt::format("{}: GPU numbers must be less than {}",
                                                 node.name(), kMaxGpuNumber));
    }
  }
  if (const auto sound = CheckTime("start_ns", request.start_ns()); !sound) return sound;
  return CheckTime("limit_ns", request.limit_ns());
}

void FillRegistered(const Allocation& job, v1::RegisteredJob& out) {
  out.set_id(job.id);
  out.set_name(job.name);
  out.set_user(job.user);
  for (const AllocatedNode& node : job.nodes) {
    v1::JobNode& one = *out.add_nodes();
    one.set_name(node.name);
    one.mutable_gpus()->Add(node.gpus.begin(), node.gpus.end());
  }
  out.set_ended(job.state == AllocationState::kEnded);
  if (job.start) out.set_start_ns(ToNanoseconds(*job.start));
  if (!job.end) return;
  if (out.ended()) {
    out.set_end_ns(ToNanoseconds(*job.end));
  } else {
    out.set_limit_ns(ToNanoseconds(*job.end));
  }
}

}  // namespace

ServiceStatus Service::ListJobs(const v1::ListJobsRequest& request, v1::ListJobsResponse& out) {
  const auto page = Page(request.page_token());
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  answer.FillAge(*out.mutable_age());
  const PageEnd end = EndOfPage(page->first, request.page_size(),
                                answer.snapshot().attribution->jobs.size(), PageVersion(answer));
  for (uint64_t i = page->first; i < end.end; ++i) FillJobSummary(answer, i, *out.add_jobs());
  out.set_next_page_token(end.next);
  return {};
}

ServiceStatus Service::GetJob(const v1::GetJobRequest& request, v1::GetJobResponse& out) {
  const auto answer = Answered();
  if (!answer) return tl::unexpected(answer.error());
  const auto job = FindJob((*answer)->snapshot(), request.id());
  if (!job) return tl::unexpected(NoSuchJob(request.id()));
  (*answer)->FillAge(*out.mutable_age());
  *out.mutable_job() = (*answer)->jobs().jobs(static_cast<int>(*job));
  FillJobSummary(**answer, *job, *out.mutable_summary());
  return {};
}

void Service::TellAllocations() {
  constexpr auto kPatience =
      std::chrono::seconds(1);  // hooks of schedulers usually time out after 2 s
  uint64_t version = 0;
  {
    const std::lock_guard lock(telling_);
    std::vector<Allocation> told = registry_.Told();
    daemon_.SetAllocations(told);
    if (job_file_ != nullptr) version = job_file_->Save(std::move(told));
  }
  // Wait without the lock, so that concurrent callers share one write.
  if (job_file_ != nullptr) job_file_->WaitFor(version, kPatience);
}

ServiceStatus Service::RegisterJob(const v1::RegisterJobRequest& request,
                                   v1::RegisterJobResponse& out) {
  if (const auto sound = CheckJob(request); !sound) return sound;
  Allocation job = {.id = request.id(),
                    .name = request.name(),
                    .user = request.user(),
                    .state_text = "RUNNING",
                    .start = TimeOrNow(request.start_ns())};
  if (request.limit_ns() > 0) {
    const Timestamp limit = FromNanoseconds(request.limit_ns());
    if (const auto sound = CheckOver("limit_ns", limit, *job.start); !sound) return sound;
    job.end = std::max(limit, *job.start);
  }
  const topology::Fabric* const fabric = daemon_.fabric().get();
  job.nodes = NodesOf(request);
  for (const AllocatedNode& node : job.nodes) {
    if (fabric != nullptr && !HasHost(*fabric, node.name)) out.add_unknown_nodes(node.name);
  }
  if (!registry_.Register(std::move(job))) {
    return Refuse(ServiceFault::kTooMany,
                  fmt::format("the maximum of {} registered jobs is reached, and none of them has "
                              "ended: call EndJob for jobs that have ended",
                              JobRegistry::kMost));
  }
  TellAllocations();
  return {};
}

ServiceStatus Service::EndJob(const v1::EndJobRequest& request, v1::EndJobResponse&) {
  if (const auto sound = CheckTime("end_ns", request.end_ns()); !sound) return sound;
  Timestamp end = TimeOrNow(request.end_ns());
  const auto job = registry_.Find(request.id());
  if (job && job->start) {
    const auto sound = CheckOver("end_ns", end, *job->start);
    if (!sound && request.end_ns() != 0) return sound;
    end = std::max(end, *job->start);
  }
  if (!registry_.End(request.id(), end)) {
    return Refuse(ServiceFault::kUnknownJob, fmt::format("job {} is not registered", request.id()));
  }
  TellAllocations();
  return {};
}

ServiceStatus Service::ListRegisteredJobs(const v1::ListRegisteredJobsRequest& request,
                                          v1::ListRegisteredJobsResponse& out) {
  const auto answer = views_.Latest();
  const auto add = [&](const Allocation& job) {
    v1::RegisteredJob& one = *out.add_jobs();
    FillRegistered(job, one);
    if (!answer) return;
    const auto seen = FindJob(answer->snapshot(), fmt::format("{}", job.id));
    if (seen) one.set_seen_as(answer->snapshot().attribution->jobs[*seen].job.id);
  };
  if (request.id() != 0) {
    const auto job = registry_.Find(request.id());
    if (!job) {
      return Refuse(ServiceFault::kUnknownJob,
                    fmt::format("job {} is not registered", request.id()));
    }
    add(*job);
    return {};
  }
  uint64_t after = 0;  // a job id, so that the position stays valid when jobs are added or removed
  if (!request.page_token().empty()) {
    const auto token = ParsePageToken(request.page_token());
    if (!token || token->version != 0) {
      return RefuseFields({"page_token"},
                          "not a token of this appliance; leave it empty for the first page");
    }
    after = token->offset;
  }
  const uint32_t size = PageSize(request.page_size());
  const std::vector<Allocation> jobs = registry_.After(after, request.ended(), size + 1);
  for (size_t i = 0; i < std::min<size_t>(size, jobs.size()); ++i) add(jobs[i]);
  if (jobs.size() > size) out.set_next_page_token(ToText({.offset = jobs[size - 1].id}));
  return {};
}

}  // namespace rocescope
