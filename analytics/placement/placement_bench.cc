// SPDX-License-Identifier: BSD-3-Clause
// A placement request in a fabric of 10,240 GPUs, half of them in use, with a few faults and known
// load on every link.
#include <benchmark/benchmark.h>

#include "analytics/placement/placement.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

struct Large {
  topology::Fabric fabric =
      topology::Generate(
          {.hosts = 1280, .nics_per_host = 8, .rail_optimised = true, .leaves = 160, .spines = 32})
          .value();
  topology::LeafGroups groups = LeafGroupsOf(fabric);
  Findings findings;
  LinkLoads loads;
  std::vector<NodeUsage> uses;
  PlacementRequest request;

  Large() {
    loads.window = std::chrono::seconds(1);
    for (uint32_t port = 0; port < fabric.ports().size(); ++port) {
      if (fabric.Peer(port) == topology::kNone) continue;
      const uint64_t most = fabric.SpeedOf(port) / 8;
      loads.loads.push_back({.port = port,
                             .source = LoadSource::kCounters,
                             .bytes = port * 7919u % 100 * most / 100});
    }
    for (uint32_t node = 0; node < fabric.nodes().size(); ++node) {
      if (fabric.node(node).IsSwitch()) continue;
      request.candidates.push_back(node);
      if (request.candidates.size() % 2 == 0) uses.push_back({.node = node, .job = node % 40});
    }
    for (uint32_t link = 0; link < fabric.links().size(); link += 97) {
      findings.push_back(
          {.kind = FaultKind::kGrayLoss, .place = {PlaceKind::kLink, link}, .confidence = 0.9});
    }
  }
};

void BM_Place(benchmark::State& state) {
  Large large;
  large.request.nodes = static_cast<uint32_t>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(PlaceJob(large.fabric, large.groups, large.findings, large.loads,
                                      large.uses, large.request));
  }
}
BENCHMARK(BM_Place)->Arg(4)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

void BM_LeafGroups(benchmark::State& state) {
  const Large large;
  for (auto _ : state) benchmark::DoNotOptimize(LeafGroupsOf(large.fabric));
}
BENCHMARK(BM_LeafGroups)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope
