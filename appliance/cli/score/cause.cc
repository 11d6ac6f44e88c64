// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/cause.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "appliance/cli/score/place.h"
#include "rocescope/v1/diagnosis.pb.h"
#include "rocescope/v1/truth.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

// Like the diagnosis, which groups findings by root cause: elements that share a node are adjacent.
bool IsNear(const v1::TruthFault& fault, const std::string& place) {
  const auto is_near = [&](const std::string& other) {
    return ClosenessOf(other, place) != Closeness::kFar;
  };
  return is_near(fault.place()) || std::ranges::any_of(fault.loop_ports(), is_near) ||
         std::ranges::any_of(fault.real_links(), is_near) ||
         std::ranges::any_of(fault.declared_links(), is_near);
}

}  // namespace

const CauseFinder::JobPlaces& CauseFinder::PlacesOf(const std::string& job) {
  const auto [at, is_new] = jobs_.try_emplace(job);
  JobPlaces& places = at->second;
  if (!is_new) return places;
  for (const v1::TruthConnection& connection : truth_.connections()) {
    if (connection.job() != job) continue;
    for (const v1::TruthEnd* end : {&connection.first(), &connection.second()}) {
      places.nodes.insert(end->host());
      places.ports.insert(end->host() + ":" + end->device());
    }
    for (const auto* paths : {&connection.forward(), &connection.backward()}) {
      for (const v1::TruthPath& path : *paths) {
        for (const std::string& port : path.ports()) {
          places.nodes.insert(port.substr(0, port.find(':')));
          places.ports.insert(port);
        }
      }
    }
  }
  return places;
}

// 0: far away; the higher, the closer.
int CauseFinder::RankOf(const v1::TruthBenign& event, const std::string& place) {
  const Closeness closeness = ClosenessOf(event.place(), place);
  // Two elements that only share a node have little in common: a switch has many links.
  if (closeness >= Closeness::kTouching) return 1 + static_cast<int>(closeness);
  const bool is_job = std::ranges::any_of(
      truth_.jobs(), [&](const v1::TruthJob& job) { return job.name() == event.place(); });
  if (!is_job) return 0;
  const JobPlaces& job = PlacesOf(event.place());
  // A switch or host; a NIC or a GPU; a link.
  const bool is_node = place.find(':') == std::string::npos;
  const bool is_on_host = place.find(":gpu:") != std::string::npos;
  if (is_node || is_on_host) return job.nodes.contains(place.substr(0, place.find(':'))) ? 1 : 0;
  return std::ranges::any_of(
             job.ports,
             [&](const std::string& port) { return port == place || IsEndOf(port, place); })
             ? 1
             : 0;
}

const v1::TruthBenign* CauseFinder::BenignEvent(const v1::Finding& finding,
                                                const FindingTime& time) {
  const v1::TruthBenign* best = nullptr;
  std::tuple<int, int64_t> best_rank;  // the lowest is the best
  for (const v1::TruthBenign& event : truth_.benign()) {
    if (event.start_ns() > time.end_ns + tolerance_ns_) continue;
    if (event.end_ns() < time.start_ns - tolerance_ns_) continue;
    const int closeness = RankOf(event, finding.place());
    if (closeness == 0) continue;
    const std::tuple rank = {-closeness, std::abs(event.start_ns() - time.start_ns)};
    if (best != nullptr && rank >= best_rank) continue;
    best = &event;
    best_rank = rank;
  }
  return best;
}

const v1::TruthFault* CauseFinder::FaultBehind(const v1::Finding& finding, const FindingTime& time,
                                               int except) const {
  const std::optional<FaultKind> symptom = FindFaultKind(finding.kind());
  if (!symptom) return nullptr;
  for (int i = 0; i < truth_.faults_size(); ++i) {
    const v1::TruthFault& fault = truth_.faults(i);
    const std::optional<FaultKind> kind = FindFaultKind(fault.kind());
    if (i == except || !kind || fault.visible_ns() == 0) continue;
    if (fault.visible_ns() > time.end_ns) continue;
    if (fault.start_ns() > time.start_ns + tolerance_ns_) continue;
    const FaultInfo& info = InfoOf(*kind);
    if (info.explains_anywhere.Contains(*symptom) ||
        (info.explains_nearby.Contains(*symptom) && IsNear(fault, finding.place()))) {
      return &fault;
    }
  }
  return nullptr;
}

}  // namespace rocescope
