// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/affected_jobs.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/job/flow_of.h"
#include "analytics/job/host_name.h"
#include "topology/near_nic.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

// The jobs that a finding affects.
class Harm {
 public:
  Harm(const DiagnosisInput& input, Finding& finding)
      : fabric_(input.fabric()),
        finding_(&finding),
        // Flows that stop at once were last seen shortly before.
        from_(finding.from - input.parts().metrics.window()),
        until_(finding.until.value_or(Timestamp::max())) {
    const Place& place = finding.place;
    if (place.kind == PlaceKind::kNic) nic_ = place.index;
    if (place.kind == PlaceKind::kGpu) {
      nic_ = topology::NicNear(fabric_, place.index);
      AddRanksOn(input.parts().attribution);
    }
  }

  bool IsCulprit(const FlowKey& flow) const {
    return std::ranges::binary_search(finding_->culprits, flow);
  }

  void Add(const FlowPath& path, Timestamp from, Timestamp until, std::span<const uint32_t> jobs) {
    const bool hurt = std::ranges::any_of(path.intervals, [&](const PathInterval& stretch) {
      return std::max({stretch.from, from, from_}) <= std::min({stretch.until, until, until_}) &&
             Passes(path, stretch);
    });
    if (hurt) jobs_.insert(jobs.begin(), jobs.end());
  }

  void Finish() { finding_->affected_jobs.assign(jobs_.begin(), jobs_.end()); }

 private:
  bool Passes(const FlowPath& path, const PathInterval& stretch) const {
    if (nic_ != kNone) return path.source == nic_ || path.destination == nic_;
    if (std::ranges::any_of(stretch.certain, [&](PortIndex port) { return IsPlace(port); })) {
      return true;
    }
    return std::ranges::any_of(stretch.shares, [&](const PathShare& share) {
      return share.share > 0 && IsPlace(share.port);
    });
  }

  // `port` is a sending port.
  bool IsPlace(PortIndex port) const {
    const Place& place = finding_->place;
    if (std::ranges::find(finding_->loop, port) != finding_->loop.end()) return true;
    if (place.kind == PlaceKind::kSwitch) return fabric_.port(port).node == place.index;
    return place.kind == PlaceKind::kLink && fabric_.port(port).link == place.index &&
           (place.sender == kNone || place.sender == port);
  }

  void AddRanksOn(const Attribution& attribution) {
    const topology::Gpu& gpu = fabric_.gpu(finding_->place.index);
    if (gpu.pci.empty()) return;
    for (uint32_t job = 0; job < attribution.jobs.size(); ++job) {
      const bool has =
          std::ranges::any_of(attribution.jobs[job].job.ranks, [&](const JobRank& rank) {
            return rank.gpu_bus_id == gpu.pci && SameHost(rank.host, fabric_.node(gpu.host).name);
          });
      if (has) jobs_.insert(job);
    }
  }

  const Fabric& fabric_;
  Finding* finding_;
  Timestamp from_;
  Timestamp until_;
  NicIndex nic_ = kNone;  // all of its flows are affected, on any path
  std::set<uint32_t> jobs_;
};

}  // namespace

void FillVictims(const DiagnosisInput& input, Findings& findings) {
  std::vector<Harm> harms;
  for (Finding& finding : findings) {
    if (finding.affected_jobs.empty()) harms.emplace_back(input, finding);
  }
  if (harms.empty()) return;
  const auto& claims = input.parts().attribution.endpoints;
  size_t at = 0;
  for (const Connection& connection : input.parts().connections) {
    if (at == claims.size()) break;
    const EndClaims& ends = claims[at++];
    std::vector<uint32_t> jobs;
    for (const auto& claim : ends) {
      if (claim) jobs.push_back(claim->job);
    }
    if (jobs.empty()) continue;
    const std::array flows = {FlowFrom(0, connection), FlowFrom(1, connection)};
    std::array<const FlowPath*, 2> paths{};
    for (size_t end = 0; end < 2; ++end) {
      if (flows[end]) paths[end] = input.parts().paths.Find(*flows[end], &FlowPath::flow);
    }
    const Timestamp until = connection.valid_until.value_or(Timestamp::max());
    for (Harm& harm : harms) {
      // The reverse flow of a culprit is no victim either.
      const bool culprit = std::ranges::any_of(
          flows, [&](const auto& flow) { return flow && harm.IsCulprit(*flow); });
      if (culprit) continue;
      for (const FlowPath* path : paths) {
        if (path != nullptr) harm.Add(*path, connection.valid_from, until, jobs);
      }
    }
  }
  for (Harm& harm : harms) harm.Finish();
}

}  // namespace rocescope
