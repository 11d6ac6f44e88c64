// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/benign_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/run/outcome.h"
#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

constexpr double kNoticeablePace = 1.01;

void AddEventsOf(const Job& job, const std::vector<Job::Break>& breaks, SimTime end,
                 std::vector<BenignEvent>& events) {
  const JobOptions& options = job.options();
  for (const Job::Break& each : breaks) {
    events.push_back({.kind = each.checkpoint ? BenignKind::kCheckpoint : BenignKind::kInterlude,
                      .place = options.name,
                      .direction = {},
                      .start = each.begin,
                      .end = std::min(each.end, end)});
  }
  if (options.incarnation > 0 && options.start < end) {
    const SimTime crash = options.restarts[options.incarnation - 1].at;
    events.push_back({.kind = BenignKind::kJobRestart,
                      .place = options.name,
                      .direction = {},
                      .start = crash,
                      .end = options.start});
  }
  const bool is_last = options.incarnation == options.restarts.size();
  if (options.end < end && is_last) {
    events.push_back({.kind = BenignKind::kJobStop,
                      .place = options.name,
                      .direction = {},
                      .start = options.end,
                      .end = options.end});
  }
}

}  // namespace

std::vector<BenignEvent> BenignEventsOf(const Simulation& simulation, const Outcome& outcome) {
  const topology::Fabric& fabric = simulation.fabric();
  const Scenario& scenario = simulation.scenario();
  std::vector<BenignEvent> events = outcome.benign;
  for (size_t i = 0; i < outcome.starts.size(); ++i) {
    AddEventsOf(*simulation.jobs()[i], outcome.starts[i].breaks, scenario.duration, events);
  }
  for (const auto& flow : simulation.foreign()) {
    const TcpFlow::Options& options = flow->options();
    if (options.start >= scenario.duration) continue;
    for (const topology::NicIndex index : {options.from, options.to}) {
      const topology::Nic& nic = fabric.nic(index);
      events.push_back({.kind = BenignKind::kForeignTraffic,
                        .place = fmt::format("{}:{}", fabric.node(nic.host).name, nic.device),
                        .direction = {},
                        .start = options.start,
                        .end = std::min(options.end, scenario.duration)});
    }
  }
  for (size_t number = 0; number < scenario.jobs.size(); ++number) {
    const Job& job = *simulation.jobs()[simulation.StartsOf(number).front()];
    for (uint32_t rank = 0; rank < job.options().gpus.size(); ++rank) {
      if (job.pace(rank) < kNoticeablePace) continue;
      const topology::Gpu& gpu = fabric.gpu(job.options().gpus[rank]);
      events.push_back({.kind = BenignKind::kGpuClock,
                        .place = fmt::format("{}:gpu:{}", fabric.node(gpu.host).name, gpu.number),
                        .direction = {},
                        .start = 0,
                        .end = scenario.duration});
    }
  }
  std::sort(events.begin(), events.end(), [](const BenignEvent& a, const BenignEvent& b) {
    return std::tie(a.start, a.kind, a.place, a.direction, a.end) <
           std::tie(b.start, b.kind, b.place, b.direction, b.end);
  });
  return events;
}

}  // namespace rocescope::sim
