// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/path_query.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "analytics/job/flow_of.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"
#include "topology/near_nic.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NicIndex;

std::optional<uint32_t> Number(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

NicIndex NicOfGpu(const Fabric& fabric, topology::NodeIndex host, uint32_t number) {
  for (const topology::GpuIndex i : fabric.GpusOf(host)) {
    if (fabric.gpu(i).number != number) continue;
    if (const NicIndex nic = topology::NicNear(fabric, i); nic != kNone) return nic;
  }
  return kNone;
}

// Returns the NICs that a name denotes; empty if there are none. A host name denotes all of its
// NICs.
std::vector<NicIndex> NicsNamed(const Fabric& fabric, std::string_view name) {
  if (const auto address = ParseIpAddress(name)) {
    const NicIndex nic = fabric.FindNic({.segment = 0, .address = *address});
    return nic == kNone ? std::vector<NicIndex>() : std::vector<NicIndex>{nic};
  }
  const size_t colon = name.find(':');
  const topology::NodeIndex host = fabric.FindNode(name.substr(0, colon));
  if (host == kNone) return {};
  if (colon == std::string_view::npos) {
    return {fabric.NicsOf(host).begin(), fabric.NicsOf(host).end()};
  }
  std::string_view rest = name.substr(colon + 1);
  NicIndex nic = kNone;
  if (rest.starts_with("gpu:")) {
    rest.remove_prefix(4);
    if (const auto number = Number(rest)) nic = NicOfGpu(fabric, host, *number);
  } else {
    nic = fabric.FindNicByDevice(host, rest);
  }
  return nic == kNone ? std::vector<NicIndex>() : std::vector<NicIndex>{nic};
}

tl::unexpected<ServiceError> NoSuchEnd(std::string_view key, std::string_view name) {
  return Refuse(ServiceFault::kUnknownElement,
                fmt::format("{}: \"{}\" is not in the topology; expected HOST, HOST:DEVICE, "
                            "HOST:gpu:NUMBER or an IP address, or with a job a rank number",
                            key, name));
}

std::vector<const FlowPath*> Between(const Snapshot& snapshot, const std::vector<NicIndex>& from,
                                     const std::vector<NicIndex>& to) {
  std::vector<const FlowPath*> paths;
  for (const NicIndex source : from) {
    for (const NicIndex destination : to) {
      const auto some = snapshot.PathsBetween(source, destination);
      paths.insert(paths.end(), some.begin(), some.end());
    }
  }
  return paths;
}

// Endpoints within a job, optionally restricted to ranks.
struct JobEnds {
  size_t job = 0;
  std::optional<uint32_t> source;
  std::optional<uint32_t> destination;

  bool Has(const EndClaims& ends, size_t from) const {
    return Fits(ends[from], source) && Fits(ends[1 - from], destination);
  }

 private:
  bool Fits(const std::optional<RankClaim>& claim, const std::optional<uint32_t>& rank) const {
    if (!rank) return !claim || claim->job == job;
    return claim && claim->job == job && claim->rank == static_cast<int>(*rank);
  }
};

// Sorts by flow and removes duplicates.
void SortPaths(std::vector<const FlowPath*>& paths) {
  std::ranges::sort(paths, {}, [](const FlowPath* path) { return path->flow; });
  const auto rest = std::ranges::unique(paths);
  paths.erase(rest.begin(), rest.end());
}

ServiceResult<std::vector<const FlowPath*>> BetweenEnds(const Snapshot& snapshot,
                                                        const std::string& source,
                                                        const std::string& destination) {
  const std::vector<NicIndex> from = NicsNamed(*snapshot.fabric, source);
  if (from.empty()) return NoSuchEnd("source", source);
  const std::vector<NicIndex> to = NicsNamed(*snapshot.fabric, destination);
  if (to.empty()) return NoSuchEnd("destination", destination);
  return Between(snapshot, from, to);
}

ServiceResult<uint32_t> RankNamed(std::string_view key, const std::string& name) {
  const auto rank = Number(name);
  if (rank) return *rank;
  return RefuseFields(
      {key}, fmt::format("expected a rank number, because `job_id` is set; found \"{}\"", name));
}

std::vector<const FlowPath*> OfJob(const Snapshot& snapshot, const JobEnds& ends) {
  std::vector<const FlowPath*> paths;
  const std::vector<EndClaims>& claims = snapshot.attribution->endpoints;
  for (size_t i = 0; i < claims.size(); ++i) {
    const bool is_its = std::ranges::any_of(
        claims[i], [&](const auto& claim) { return claim && claim->job == ends.job; });
    if (!is_its) continue;
    for (size_t from = 0; from < 2; ++from) {
      if (!ends.Has(claims[i], from)) continue;
      const auto flow = FlowFrom(from, (*snapshot.connections)[i]);
      const FlowPath* const path = flow ? snapshot.PathOf(*flow) : nullptr;
      if (path != nullptr) paths.push_back(path);
    }
  }
  return paths;
}

}  // namespace

ServiceResult<std::vector<const FlowPath*>> QueryPaths(const Snapshot& snapshot,
                                                       std::optional<size_t> job,
                                                       const v1::FindPathsRequest& request) {
  std::vector<const FlowPath*> paths;
  if (job) {
    JobEnds ends{.job = *job};
    for (const auto& [key, name, rank] :
         {std::tuple("source", &request.source(), &ends.source),
          std::tuple("destination", &request.destination(), &ends.destination)}) {
      if (name->empty()) continue;
      const auto number = RankNamed(key, *name);
      if (!number) return tl::unexpected(number.error());
      *rank = *number;
    }
    paths = OfJob(snapshot, ends);
  } else {
    if (request.source().empty() || request.destination().empty()) {
      return RefuseFields({"source", "destination"}, "both are required unless `job_id` is set");
    }
    auto found = BetweenEnds(snapshot, request.source(), request.destination());
    if (!found) return found;
    paths = *std::move(found);
  }
  SortPaths(paths);
  return paths;
}

PairQuery::PairQuery(const Snapshot& snapshot, std::optional<size_t> job)
    : snapshot_(snapshot), has_job_(job.has_value()) {
  if (!job) return;
  const std::vector<EndClaims>& claims = snapshot.attribution->endpoints;
  for (size_t i = 0; i < claims.size(); ++i) {
    const auto is_rank = [&](const auto& claim) {
      return claim && claim->job == *job && claim->rank >= 0;
    };
    if (!std::ranges::all_of(claims[i], is_rank)) continue;
    for (size_t from = 0; from < 2; ++from) {
      const auto flow = FlowFrom(from, (*snapshot.connections)[i]);
      const FlowPath* const path = flow ? snapshot.PathOf(*flow) : nullptr;
      if (path == nullptr) continue;
      by_ranks_.push_back({.source = static_cast<uint32_t>(claims[i][from]->rank),
                           .destination = static_cast<uint32_t>(claims[i][1 - from]->rank),
                           .path = path});
    }
  }
  std::ranges::sort(by_ranks_, {}, [](const RankPath& one) {
    return std::tuple(one.source, one.destination, one.path->flow);
  });
}

ServiceResult<std::vector<const FlowPath*>> PairQuery::Find(const std::string& source,
                                                            const std::string& destination) const {
  if (source.empty() || destination.empty()) {
    return RefuseFields({"source", "destination"}, "both are required");
  }
  std::vector<const FlowPath*> paths;
  if (!has_job_) {
    auto found = BetweenEnds(snapshot_, source, destination);
    if (!found) return found;
    paths = *std::move(found);
  } else {
    const auto from = RankNamed("source", source);
    if (!from) return tl::unexpected(from.error());
    const auto to = RankNamed("destination", destination);
    if (!to) return tl::unexpected(to.error());
    const auto ranks = [](const RankPath& one) { return std::pair(one.source, one.destination); };
    for (const RankPath& one :
         std::ranges::equal_range(by_ranks_, std::pair(*from, *to), {}, ranks)) {
      paths.push_back(one.path);
    }
  }
  SortPaths(paths);
  return paths;
}

}  // namespace rocescope
