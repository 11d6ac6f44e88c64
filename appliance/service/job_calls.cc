// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "analytics/job/host_name.h"
#include "appliance/service/job_summary.h"
#include "appliance/service/service.h"
#include "dataplane/lcore/wall_clock.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

Timestamp TimeOrNow(int64_t ns) { return ns == 0 ? WallClock() : FromNanoseconds(ns); }

bool HasHost(const topology::Fabric& fabric, const std::string& name) {
  const topology::NodeIndex node = fabric.FindNode(name);
  if (node != topology::kNone) return !fabric.node(node).IsSwitch();
  return std::ranges::any_of(fabric.nodes(), [&](const topology::Node& one) {
    return !one.IsSwitch() && SameHost(one.name, name);
  });
}

}  // namespace

ServiceStatus Service::ListJobs(const v1::ListJobsRequest& request, v1::ListJobsResponse& out) {
  const auto page = Page(request.page_token());
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  answer.FillAge(*out.mutable_age());
  const PageEnd end =
      EndOfPage(page->first, request.page_size(), answer.snapshot().attribution->jobs.size(),
                answer.answer().version);
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
  const std::lock_guard lock(telling_);
  box_.SetAllocations(registry_.All());
}

ServiceStatus Service::RegisterJob(const v1::RegisterJobRequest& request,
                                   v1::RegisterJobResponse& out) {
  if (request.id() == 0 || request.nodes().empty()) {
    return Refuse(ServiceFault::kBadRequest,
                  "a job has the scheduler's number, from 1 on, and at least one node");
  }
  Allocation job = {.id = request.id(),
                    .name = request.name(),
                    .user = request.user(),
                    .state_text = "RUNNING",
                    .start = TimeOrNow(request.start_ns())};
  const topology::Fabric* const fabric = box_.fabric().get();
  for (const v1::JobNode& node : request.nodes()) {
    AllocatedNode& one = job.nodes.emplace_back();
    one.name = node.name();
    one.gpus.assign(node.gpus().begin(), node.gpus().end());
    std::ranges::sort(one.gpus);
    if (fabric != nullptr && !HasHost(*fabric, node.name())) out.add_unknown_nodes(node.name());
  }
  if (!registry_.Register(std::move(job))) {
    return Refuse(ServiceFault::kTooMany,
                  fmt::format("{} jobs are registered, and none of them has ended: end some",
                              JobRegistry::kMost));
  }
  TellAllocations();
  return {};
}

ServiceStatus Service::EndJob(const v1::EndJobRequest& request, v1::EndJobResponse&) {
  if (!registry_.End(request.id(), TimeOrNow(request.end_ns()))) {
    return Refuse(ServiceFault::kUnknownJob, fmt::format("job {} is not registered", request.id()));
  }
  TellAllocations();
  return {};
}

}  // namespace rocescope
