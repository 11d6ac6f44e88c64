// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "analytics/collective/channel.h"
#include "analytics/collective/iteration_pattern.h"
#include "analytics/collective/wire_jobs.h"

namespace rocescope {
namespace {

constexpr std::string_view kSearchStopped =
    "job inference was stopped for part of the unattributed traffic: too many flows with "
    "different iteration periods";

constexpr std::string_view kOtherTraffic = "other-traffic";  // ID of its job

// Returns the job that claims most ends of the channel's connections.
std::optional<uint32_t> JobOf(const Channel& channel, const std::vector<EndClaims>& claims) {
  std::map<uint32_t, uint32_t> votes;
  for (const uint32_t connection : channel.connections) {
    for (const std::optional<RankClaim>& claim : claims[connection]) {
      if (claim) ++votes[claim->job];
    }
  }
  const auto most =
      std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; });
  if (most == votes.end()) return std::nullopt;
  return most->first;
}

// Each NIC represents a rank, because traffic alone does not distinguish GPUs.
Job JobOnNics(const std::vector<CollectiveMember>& members, bool is_other_traffic) {
  Job job;
  job.identity = JobIdentity::kWire;
  for (const CollectiveMember& member : members) {
    JobRank& rank = job.ranks.emplace_back();
    rank.host = member.host;
    rank.addresses = {member.address};
    rank.source = "wire";
    if (!member.device.empty()) rank.devices = {{.name = member.device}};
  }
  job.is_other_traffic = is_other_traffic;
  job.notes.push_back(
      is_other_traffic
          ? "periodic traffic without the clear-to-sends of collective libraries, from NICs that "
            "only send to NICs that only receive: for example storage"
          : "inferred from traffic alone: no NCCL log or scheduler reports this job; its NICs "
            "communicate with a common period, and each NIC represents one rank");
  return job;
}

class Inference {
 public:
  Inference(const Channels& channels, const ConnectionList& connections, Attribution& attribution)
      : channels_(channels), connections_(connections), attribution_(attribution) {}

  // Channels (indices) of an inferred job.
  void Add(const std::vector<uint32_t>& of_job, double confidence, bool is_other_traffic) {
    std::map<Place, const CollectiveMember*> nics;
    for (const uint32_t channel : of_job) {
      for (const uint32_t nic :
           {channels_.all[channel].source, channels_.all[channel].destination}) {
        const CollectiveMember& member = channels_.nics[nic];
        nics.emplace(Place(member.segment, member.address), &member);
      }
    }
    std::vector<CollectiveMember> members;
    std::map<Place, int> member_of;
    for (const auto& [place, nic] : nics) {
      member_of.emplace(place, static_cast<int>(members.size()));
      members.push_back(*nic);
    }
    const auto job = static_cast<uint32_t>(attribution_.jobs.size());
    attribution_.jobs.push_back({.job = JobOnNics(members, is_other_traffic), .edges = {}});
    attribution_.jobs.back().job.id =
        is_other_traffic ? std::string(kOtherTraffic) : IdFor(members.front());
    for (const uint32_t channel : of_job) {
      for (const uint32_t i : channels_.all[channel].connections) {
        for (size_t end = 0; end < 2; ++end) {
          attribution_.endpoints[i][end] = {
              .job = job,
              .rank = -1,
              .member = member_of.at(
                  {connections_[i].endpoints[end].segment, connections_[i].endpoints[end].address}),
              .source = RankSource::kWire,
              .confidence = confidence};
        }
      }
    }
  }

 private:
  using Place = std::pair<Segment, IpAddress>;

  // The ID contains the first NIC's address. Tenants may use the same address, and several jobs the
  // same NIC, so a suffix makes it unique.
  std::string IdFor(const CollectiveMember& first) {
    const std::string id = fmt::format("wire-{}", ToString(first.address));
    const uint32_t others = taken_[id]++;
    return others == 0 ? id : fmt::format("{}-{}", id, others + 1);
  }

  const Channels& channels_;
  const ConnectionList& connections_;
  Attribution& attribution_;
  std::map<std::string, uint32_t> taken_;  // number of uses of each ID
};

}  // namespace

std::vector<JobIterationPattern> FindCollectives(const HostFacts& facts,
                                                 const ConnectionList& connections,
                                                 const FlowSummaries& flows,
                                                 const ActivityTracker& activity,
                                                 Attribution& attribution) {
  const TimeLine line = activity.Line();
  if (line.length == 0) return {};
  const std::vector<FlowActivity> active = activity.Flows();
  const Channels channels = ChannelsOf(connections, flows, active, facts);
  std::vector<std::vector<uint32_t>> of_job(attribution.jobs.size());
  std::vector<bool> taken(channels.all.size());
  for (uint32_t i = 0; i < channels.all.size(); ++i) {
    if (const std::optional<uint32_t> job = JobOf(channels.all[i], attribution.endpoints)) {
      of_job[*job].push_back(i);
      taken[i] = true;
    }
  }
  const WireJobs wire = FindWireJobs(channels, taken, line);
  if (wire.gave_up) attribution.notes.emplace_back(kSearchStopped);
  if (!wire.confidence.empty()) {
    const size_t known = of_job.size();
    of_job.resize(known + wire.confidence.size());
    for (uint32_t i = 0; i < channels.all.size(); ++i) {
      if (wire.job_of[i] != kNoJob) {
        of_job[known + static_cast<size_t>(wire.job_of[i])].push_back(i);
      }
    }
    Inference inference(channels, connections, attribution);
    for (size_t j = 0; j < wire.confidence.size(); ++j) {
      inference.Add(of_job[known + j], wire.confidence[j], static_cast<int>(j) == wire.other);
    }
    auto edges = EdgesOf(of_job.size(), connections, attribution.endpoints, flows);
    for (size_t j = known; j < of_job.size(); ++j) {
      attribution.jobs[j].edges = std::move(edges[j]);
    }
  }
  std::vector<JobIterationPattern> iteration_patterns;
  for (uint32_t job = 0; job < of_job.size(); ++job) {
    if (of_job[job].empty() || attribution.jobs[job].job.is_other_traffic) continue;
    if (std::optional<JobIterationPattern> iteration_pattern =
            IterationPatternOf(channels, of_job[job], line)) {
      iteration_pattern->job = job;
      iteration_patterns.push_back(*std::move(iteration_pattern));
    }
  }
  return iteration_patterns;
}

std::shared_ptr<const std::vector<JobIterationPattern>> CollectiveFinder::Find(
    const HostFacts& facts, const ConnectionList& connections, const FlowSummaries& flows,
    const ActivityTracker& activity, Attribution& attribution) {
  const TimeLine line = activity.Line();
  const Timestamp end = line.begin + line.width * static_cast<int64_t>(line.length);
  if (looked_ && end - *looked_ < pace_) {
    Repeat(connections, flows, attribution);
    return iteration_patterns_;
  }
  looked_ = end;
  const auto notes = static_cast<std::ptrdiff_t>(attribution.notes.size());
  iteration_patterns_ = std::make_shared<const std::vector<JobIterationPattern>>(
      FindCollectives(facts, connections, flows, activity, attribution));
  notes_.assign(attribution.notes.begin() + notes, attribution.notes.end());
  if (pace_ > Duration::zero()) Remember(connections, attribution);
  return iteration_patterns_;
}

void CollectiveFinder::Remember(const ConnectionList& connections, const Attribution& attribution) {
  wire_jobs_.clear();
  of_wire_.clear();
  by_job_.clear();
  const auto first =
      static_cast<uint32_t>(std::ranges::count_if(attribution.jobs, [](const AttributedJob& job) {
        return job.job.identity != JobIdentity::kWire;
      }));
  for (size_t job = first; job < attribution.jobs.size(); ++job) {
    wire_jobs_.push_back(attribution.jobs[job].job);
  }
  for (uint32_t i = 0; i < connections.size(); ++i) {
    EndClaims claims = attribution.endpoints[i];
    if (!claims[0] || claims[0]->source != RankSource::kWire) continue;
    for (std::optional<RankClaim>& claim : claims) claim->job -= first;
    of_wire_.emplace_back(connections[i].endpoints, claims);
  }
  std::ranges::sort(of_wire_, {}, [](const auto& one) { return one.first; });
  for (const JobIterationPattern& iteration_pattern : *iteration_patterns_) {
    by_job_.emplace(attribution.jobs[iteration_pattern.job].job.id, iteration_pattern);
  }
}

void CollectiveFinder::Repeat(const ConnectionList& connections, const FlowSummaries& flows,
                              Attribution& attribution) {
  std::ranges::copy(notes_, std::back_inserter(attribution.notes));
  const auto first = static_cast<uint32_t>(attribution.jobs.size());
  for (const Job& job : wire_jobs_) attribution.jobs.push_back({.job = job, .edges = {}});
  for (uint32_t i = 0; i < connections.size(); ++i) {
    if (attribution.endpoints[i][0] || attribution.endpoints[i][1]) continue;
    const auto at = std::ranges::lower_bound(of_wire_, connections[i].endpoints, {},
                                             [](const auto& one) { return one.first; });
    if (at == of_wire_.end() || at->first != connections[i].endpoints) continue;
    attribution.endpoints[i] = at->second;
    for (std::optional<RankClaim>& claim : attribution.endpoints[i]) claim->job += first;
  }
  if (!wire_jobs_.empty()) {
    auto edges = EdgesOf(attribution.jobs.size(), connections, attribution.endpoints, flows);
    for (size_t job = first; job < edges.size(); ++job) {
      attribution.jobs[job].edges = std::move(edges[job]);
    }
  }
  std::vector<JobIterationPattern> iteration_patterns;
  for (uint32_t job = 0; job < attribution.jobs.size(); ++job) {
    const auto at = by_job_.find(attribution.jobs[job].job.id);
    if (at == by_job_.end()) continue;
    iteration_patterns.push_back(at->second);
    iteration_patterns.back().job = job;
  }
  iteration_patterns_ =
      std::make_shared<const std::vector<JobIterationPattern>>(std::move(iteration_patterns));
}

}  // namespace rocescope
