// SPDX-License-Identifier: BSD-3-Clause
// Finds NICs whose link is congested by new senders, or by senders of no job that send to this NIC
// only. Flows of collectives go in both directions and to many NICs.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "analytics/collective/gpus_by_job.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/job/flow_of.h"
#include "base/count_text.h"
#include "topology/near_nic.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

struct Foreign {
  const FlowSummary* flow = nullptr;
  NicIndex source = kNone;
  NicIndex destination = kNone;
  bool is_alone = false;  // its sender sends to no other NIC and receives nothing
};

constexpr ptrdiff_t kSeveralSenders = 2;
// A single congested window is normal.
constexpr uint32_t kCongestedWindows = 2;

// The end of the warm-up at the start of the data.
Timestamp Settled(const DiagnosisInput& input) {
  return input.BeginOfEver(size_t{input.thresholds().warm_up_windows} + 1);
}

// Flows between two ranks of one job, according to NCCL logs, ascending. After a restart they are
// new, too.
std::vector<FlowKey> FlowsOfRanks(const DiagnosisInput& input) {
  constexpr double kSure = 0.9;
  const Attribution& attribution = input.parts().attribution;
  std::vector<FlowKey> flows;
  size_t at = 0;
  for (const Connection& connection : input.parts().connections) {
    if (at == attribution.endpoints.size()) break;
    const auto& [a, b] = attribution.endpoints[at++];
    const auto is_rank = [&](const std::optional<RankClaim>& claim) {
      return claim && claim->IsRankKnown() && claim->confidence >= kSure &&
             attribution.jobs[claim->job].job.identity == JobIdentity::kNcclLog;
    };
    if (!is_rank(a) || !is_rank(b) || a->job != b->job) continue;
    for (const size_t end : {size_t{0}, size_t{1}}) {
      if (const auto flow = FlowFrom(end, connection)) flows.push_back(*flow);
    }
  }
  std::ranges::sort(flows);
  return flows;
}

// Flows that do not look like flows of a job, and new flows of no known rank.
std::vector<Foreign> ForeignFlows(const DiagnosisInput& input) {
  std::vector<Foreign> all;
  std::map<NicIndex, std::set<NicIndex>> sends_to;
  std::set<NicIndex> gets;
  for (const FlowSummary& flow : input.parts().flows) {
    if (flow.DataBytes() == 0) continue;
    const NicIndex source =
        input.fabric().FindNic({.segment = flow.flow.segment, .address = flow.flow.source});
    const NicIndex destination =
        input.fabric().FindNic({.segment = flow.flow.segment, .address = flow.flow.destination});
    if (source == kNone || destination == kNone) continue;
    all.push_back({.flow = &flow, .source = source, .destination = destination});
    sends_to[source].insert(destination);
    gets.insert(destination);
  }
  const Timestamp settled = Settled(input);
  const std::vector<FlowKey> of_ranks = FlowsOfRanks(input);
  std::erase_if(all, [&](Foreign& flow) {
    if (std::ranges::binary_search(of_ranks, flow.flow->flow)) return true;
    flow.is_alone = sends_to[flow.source].size() == 1 && !gets.contains(flow.source);
    return !flow.is_alone && flow.flow->total.first_seen < settled;
  });
  return all;
}

// Windows from `from` on in which the port is congested.
std::vector<size_t> FullFrom(const DiagnosisInput& input, PortIndex port, Timestamp from) {
  const Row sent = input.Growth(input.EntityOf(port), Metric::kTxBytes);
  const double line = input.BytesPerWindow(port);
  std::vector<bool> signs(input.windows());
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    const Row marked = input.Growth(input.EntityOf(port, priority), Metric::kEcnMarked);
    for (size_t w = 0; w < marked.size(); ++w) {
      if (marked[w] > 0) signs[w] = true;
    }
  }
  std::vector<size_t> full;
  for (size_t w = 0; w < input.windows(); ++w) {
    if (input.EndOf(w) <= from) continue;
    if (signs[w] || static_cast<double>(sent[w]) > input.thresholds().congested_link_ratio * line)
      full.push_back(w);
  }
  return full;
}

// NICs of the GPUs of each job.
std::vector<std::set<NicIndex>> NicsByJob(const DiagnosisInput& input) {
  const topology::Fabric& fabric = input.fabric();
  std::vector<std::set<NicIndex>> all;
  for (const std::vector<topology::GpuIndex>& gpus :
       GpusByJob(fabric, input.parts().attribution, input.parts().iteration_patterns)) {
    std::set<NicIndex>& nics = all.emplace_back();
    for (const topology::GpuIndex gpu : gpus) {
      if (const NicIndex nic = topology::NicNear(fabric, gpu); nic != kNone) nics.insert(nic);
    }
  }
  return all;
}

// NICs of ranks known from NCCL logs. They are not storage for other jobs.
std::set<NicIndex> NicsOfRanks(const DiagnosisInput& input,
                               const std::vector<std::set<NicIndex>>& nics_by_job) {
  std::set<NicIndex> all;
  const auto& jobs = input.parts().attribution.jobs;
  for (size_t i = 0; i < std::min(jobs.size(), nics_by_job.size()); ++i) {
    if (jobs[i].job.identity != JobIdentity::kNcclLog) continue;
    all.insert(nics_by_job[i].begin(), nics_by_job[i].end());
  }
  return all;
}

// Whether jobs write checkpoints: nearly all senders belong to jobs that do not use the
// destination, and at least half of them to jobs that send from most of their hosts. A host may
// write through one of its NICs.
bool IsCheckpoint(const topology::Fabric& fabric, const std::set<NicIndex>& senders,
                  NicIndex destination, const std::vector<std::set<NicIndex>>& jobs) {
  std::set<NicIndex> writing;
  std::set<NicIndex> of_jobs;  // senders of all jobs that do not use the destination
  for (const std::set<NicIndex>& job : jobs) {
    if (job.contains(destination)) continue;
    std::ranges::copy_if(job, std::inserter(of_jobs, of_jobs.end()),
                         [&](NicIndex nic) { return senders.contains(nic); });
    std::set<topology::NodeIndex> hosts;
    std::set<topology::NodeIndex> sending;
    for (const NicIndex nic : job) {
      hosts.insert(fabric.nic(nic).host);
      if (senders.contains(nic)) sending.insert(fabric.nic(nic).host);
    }
    if (2 * sending.size() <= hosts.size()) continue;
    std::ranges::copy_if(job, std::inserter(writing, writing.end()),
                         [&](NicIndex nic) { return senders.contains(nic); });
  }
  // Where one job writes, the first senders of another one begin to write, too.
  const bool is_storage = 2 * writing.size() >= senders.size();
  return 10 * (is_storage ? of_jobs : writing).size() >= 9 * senders.size();
}

// Leaves out the flows of checkpoints. They are new, too, so that their senders would seem to send
// to several NICs, as in a collective.
std::vector<Foreign> WithoutCheckpoints(const DiagnosisInput& input, std::vector<Foreign> flows,
                                        const std::vector<std::set<NicIndex>>& jobs,
                                        const std::set<NicIndex>& of_ranks) {
  std::map<NicIndex, std::set<NicIndex>> senders;
  for (const Foreign& flow : flows) senders[flow.destination].insert(flow.source);
  std::set<NicIndex> storage;
  for (const auto& [destination, from] : senders) {
    if (from.size() > 1 && !of_ranks.contains(destination) &&
        IsCheckpoint(input.fabric(), from, destination, jobs)) {
      storage.insert(destination);
    }
  }
  std::erase_if(flows, [&](const Foreign& flow) { return storage.contains(flow.destination); });
  return flows;
}

// New flows between NICs that also have other traffic. Those that start at about the same time as a
// flow show that it belongs to a collective.
class NewFlows {
 public:
  NewFlows(const std::vector<Foreign>& flows, Duration window) : together_(kTogether * window) {
    for (const Foreign& flow : flows) {
      if (flow.is_alone) continue;
      from_[flow.source].push_back(&flow);
      to_[flow.destination].push_back(&flow);
    }
  }

  // Whether its destination sends, or its source receives, or sends to another NIC.
  bool IsCollective(const Foreign& flow) const {
    return Starts(from_, flow.destination, flow, kNone) ||
           Starts(from_, flow.source, flow, flow.destination) ||
           Starts(to_, flow.source, flow, kNone);
  }

 private:
  using ByNic = std::map<NicIndex, std::vector<const Foreign*>>;
  static constexpr int64_t kTogether = 4;  // windows; an iteration is rarely longer

  bool Starts(const ByNic& flows, NicIndex nic, const Foreign& with, NicIndex except) const {
    const auto at = flows.find(nic);
    return at != flows.end() && std::ranges::any_of(at->second, [&](const Foreign* other) {
             const Duration apart = other->flow->total.first_seen - with.flow->total.first_seen;
             return other->destination != except && apart <= together_ && apart >= -together_;
           });
  }

  const Duration together_;
  ByNic from_;
  ByNic to_;
};

// Describes the senders for the evidence.
std::string_view HowForeign(size_t alone, size_t senders) {
  if (alone == senders) return ", and to no other NIC";
  return alone == 0 ? ", which started recently" : "";
}

}  // namespace

void DetectOverload(const DiagnosisInput& input, Findings& found) {
  if (input.windows() <= input.thresholds().warm_up_windows) return;
  const size_t many = input.thresholds().incast_senders;
  const std::vector<std::set<NicIndex>> jobs = NicsByJob(input);
  const std::set<NicIndex> of_ranks = NicsOfRanks(input, jobs);
  const std::vector<Foreign> flows = WithoutCheckpoints(input, ForeignFlows(input), jobs, of_ranks);
  std::map<NicIndex, std::vector<const Foreign*>> to;
  std::set<NicIndex> alone_senders;
  for (const Foreign& flow : flows) {
    to[flow.destination].push_back(&flow);
    if (flow.is_alone) alone_senders.insert(flow.source);
  }
  const NewFlows new_flows(flows, input.parts().metrics.window());
  for (const auto& [nic, arriving] : to) {
    std::set<NicIndex> senders;
    Finding finding = {.place = {.kind = PlaceKind::kNic, .index = nic}, .from = Timestamp::max()};
    Timestamp last = Timestamp::min();
    const Timestamp settled = Settled(input);
    const auto is_new = [&](const Foreign* flow) {
      return flow->flow->total.first_seen >= settled;
    };
    // A sender that was there before does not cause what begins with several others.
    const bool has_new = std::ranges::count_if(arriving, is_new) >= kSeveralSenders;
    for (const Foreign* flow : arriving) {
      if (has_new && !is_new(flow)) continue;
      if (!flow->is_alone && new_flows.IsCollective(*flow)) continue;
      senders.insert(flow->source);
      finding.from = std::min(finding.from, flow->flow->total.first_seen);
      last = std::max(last, flow->flow->total.last_seen);
      finding.culprits.push_back(flow->flow->flow);
    }
    // A few senders from the start of the capture on may be normal for this NIC.
    const size_t enough = finding.from < input.BeginOfEver(1) ? many : 2;
    if (senders.size() < enough) continue;
    if (!of_ranks.contains(nic) && IsCheckpoint(input.fabric(), senders, nic, jobs)) continue;
    const PortIndex port = input.fabric().Peer(input.fabric().nic(nic).port);
    if (port == kNone) continue;
    const std::vector<size_t> full = FullFrom(input, port, finding.from);
    if (full.size() < kCongestedWindows) continue;
    finding.kind = senders.size() >= many ? FaultKind::kIncast : FaultKind::kNoisyNeighbour;
    finding.confidence = 0.9;
    finding.detected_at =
        std::max({input.EndOf(full[kCongestedWindows - 1]), finding.from, Settled(input)});
    if (last + input.thresholds().quiet_windows * input.parts().metrics.window() <
        input.EndOf(input.windows() - 1)) {
      finding.until = last;
    }
    const auto alone = static_cast<size_t>(std::ranges::count_if(
        senders, [&](NicIndex sender) { return alone_senders.contains(sender); }));
    finding.evidence.push_back(fmt::format(
        "{} to it with {}{}; {} has been congested since, in {} of {}",
        senders.size() == 1 ? "1 NIC sends" : WithThousands(senders.size()) + " NICs send",
        Counted(finding.culprits.size(), "flow"), HowForeign(alone, senders.size()),
        input.fabric().NameOf(port), WithThousands(full.size()),
        Counted(input.windows() - full.front(), "window")));
    found.push_back(std::move(finding));
  }
}

TimeToDetection TimeToDetectOverload(FaultKind kind, const Thresholds& thresholds) {
  const uint32_t senders =
      kind == FaultKind::kIncast ? thresholds.incast_senders : uint32_t{kSeveralSenders};
  return {
      .windows = kCongestedWindows,
      .warm_up_windows = thresholds.warm_up_windows + 1,
      .signs = fmt::format("{} new senders and a congested link, after the first {} of the data",
                           senders, Counted(thresholds.warm_up_windows + 1, "window"))};
}

}  // namespace rocescope
