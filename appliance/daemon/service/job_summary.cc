// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

void FillTraffic(const v1::Job& job, v1::JobSummary& out) {
  for (const v1::Edge& edge : job.edges()) {
    out.set_bytes(out.bytes() + edge.bytes());
    if (!out.has_first_seen_time() ||
        Nanoseconds(edge.first_seen_time()) < Nanoseconds(out.first_seen_time())) {
      *out.mutable_first_seen_time() = edge.first_seen_time();
    }
    if (Nanoseconds(edge.last_seen_time()) > Nanoseconds(out.last_seen_time())) {
      *out.mutable_last_seen_time() = edge.last_seen_time();
    }
  }
}

void FillIterationPattern(const v1::IterationPattern& iteration_pattern, v1::JobSummary& out) {
  *out.mutable_iteration_period() = iteration_pattern.period();
  out.set_iteration_count(iteration_pattern.iteration_count());
  for (const v1::Collective& collective : iteration_pattern.collectives()) {
    out.add_collective_kinds(collective.kind());
  }
  if (!iteration_pattern.has_straggler()) return;
  const v1::IterationPatternMember& member =
      iteration_pattern.members(static_cast<int>(iteration_pattern.straggler().member_index()));
  out.set_straggler(member.device().empty() ? member.host()
                                            : fmt::format("{}:{}", member.host(), member.device()));
}

// Returns the host of a NIC, a GPU or a host; kNone for a switch port.
topology::NodeIndex HostOf(const topology::Fabric& fabric, const Entity& entity) {
  switch (entity.kind) {
    case EntityKind::kNic:
      return fabric.nic(entity.index).host;
    case EntityKind::kGpu:
      return entity.all_gpus ? entity.index : fabric.gpu(entity.index).host;
    case EntityKind::kHost:
      return entity.index;
    case EntityKind::kPort:
    case EntityKind::kCount:
      break;
  }
  return topology::kNone;
}

// A job is not within its bounds while one of its service levels is violated, or while a fault
// affects it.
v1::ServiceLevel::State StateOf(const AnswerView& answer, size_t job, bool is_affected) {
  ServiceState worst = is_affected ? ServiceState::kAtRisk : ServiceState::kNoData;
  for (const ServiceLevel* level : ServiceLevelsOf(answer, job)) {
    worst = std::max(worst, level->state);
  }
  return EnumOf<v1::ServiceLevel::State>(kServiceStateNames[static_cast<size_t>(worst)]);
}

}  // namespace

void FillJobSummary(const AnswerView& answer, size_t index, v1::JobSummary& out) {
  const v1::Job& job = answer.jobs().jobs(static_cast<int>(index));
  out.set_job_id(job.job_id());
  out.set_identity(job.identity());
  if (job.has_allocation()) *out.mutable_allocation() = job.allocation();
  out.set_expected_rank_count(job.expected_rank_count());
  out.set_logged_rank_count(job.logged_rank_count());
  std::set<std::string_view> hosts;
  for (const v1::Rank& rank : job.ranks()) hosts.insert(rank.host());
  out.set_host_count(static_cast<uint32_t>(hosts.size()));
  FillTraffic(job, out);
  if (job.has_iteration_pattern()) FillIterationPattern(job.iteration_pattern(), out);
  for (const v1::Finding& finding : answer.findings().findings()) {
    if (finding.has_end_time()) continue;
    if (std::ranges::find(finding.affected_job_ids(), job.job_id()) ==
        finding.affected_job_ids().end())
      continue;
    out.add_finding_sentences(finding.sentence());
  }
  out.set_service_level_state(StateOf(answer, index, out.finding_sentences_size() > 0));
}

std::vector<const ServiceLevel*> ServiceLevelsOf(const AnswerView& answer,
                                                 std::optional<size_t> job) {
  const Snapshot& snapshot = answer.snapshot();
  std::set<topology::NodeIndex> hosts;
  if (job && snapshot.fabric != nullptr) {
    for (const v1::Rank& rank : answer.jobs().jobs(static_cast<int>(*job)).ranks()) {
      hosts.insert(snapshot.fabric->FindNode(rank.host()));
    }
    hosts.erase(topology::kNone);
  }
  std::vector<const ServiceLevel*> levels;
  for (const ServiceLevel& level : snapshot.service_levels->levels) {
    const bool is_of_job =
        level.job != ServiceLevel::kNoJob
            ? level.job == job
            : !hosts.empty() && hosts.contains(HostOf(*snapshot.fabric, level.entity));
    if (!job || is_of_job) levels.push_back(&level);
  }
  return levels;
}

std::vector<const ServiceLevel*> ServiceLevelsOf(const AnswerView& answer, const OwnJobs& own) {
  const Snapshot& snapshot = answer.snapshot();
  std::vector<const ServiceLevel*> levels;
  for (const ServiceLevel& level : snapshot.service_levels->levels) {
    const bool is_own =
        level.job != ServiceLevel::kNoJob
            ? own.Has(level.job)
            : snapshot.fabric != nullptr && own.HasHost(HostOf(*snapshot.fabric, level.entity));
    if (is_own) levels.push_back(&level);
  }
  return levels;
}

std::optional<size_t> FindJob(const Snapshot& snapshot, const OwnJobs& own, std::string_view name) {
  const std::vector<AttributedJob>& jobs = snapshot.attribution->jobs;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].job.id == name && own.Has(i)) return i;
  }
  std::optional<size_t> found;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const auto& allocation = jobs[i].job.allocation;
    if (!allocation || !own.Has(i)) continue;
    if (name != allocation->name && name != fmt::format("{}", allocation->id)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

}  // namespace rocescope
