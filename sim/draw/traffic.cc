// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/traffic.h"

#include <map>
#include <utility>

#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

// Bytes that one rank sends to another in one iteration, per communicator.
using Volumes = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;

Result<Volumes> VolumesOf(CollectiveOptions options, const std::vector<uint32_t>& members) {
  options.ranks = static_cast<uint32_t>(members.size());
  const auto plan = MakePlan(options);
  if (!plan) return tl::unexpected(plan.error());
  Volumes volumes;
  for (const Plan::Transfer& transfer : plan->transfers()) {
    volumes[{members[transfer.from], members[transfer.to]}] += transfer.bytes;
  }
  return volumes;
}

Result<std::vector<std::vector<Volumes>>> AllVolumes(const JobOptions& job) {
  std::vector<std::vector<Volumes>> all;
  for (const JobOptions::Phase& phase : job.phases) {
    std::vector<std::vector<uint32_t>> groups = phase.groups;
    if (groups.empty()) {
      groups.emplace_back();
      for (uint32_t rank = 0; rank < job.gpus.size(); ++rank) groups.back().push_back(rank);
    }
    auto& of_phase = all.emplace_back();
    for (const std::vector<uint32_t>& group : groups) {
      auto volumes = VolumesOf(phase.collective, group);
      if (!volumes) return tl::unexpected(volumes.error());
      of_phase.push_back(*std::move(volumes));
    }
  }
  return all;
}

}  // namespace

Result<Traffic> Traffic::Of(const Outline& outline, std::string_view text) {
  const auto scenario = LoadScenario(text, outline.name);
  if (!scenario) return tl::unexpected(scenario.error());
  auto simulation = Simulation::Make(*scenario, {});
  if (!simulation) return tl::unexpected(simulation.error());
  Network& network = (*simulation)->network();
  const topology::Fabric& fabric = network.fabric();
  Traffic traffic;
  for (uint32_t j = 0; j < outline.jobs.size(); ++j) {
    const Job& job = *(*simulation)->jobs()[j];
    const auto volumes = AllVolumes(job.options());
    if (!volumes) return tl::unexpected(volumes.error());
    const double iterations =
        static_cast<double>(kSecond) / static_cast<double>(outline.jobs[j].period);
    for (const Job::Channel& channel : job.channels()) {
      if (channel.phase >= volumes->size()) continue;  // an interlude, which is rare
      const auto& of_group = (*volumes)[channel.phase][channel.group];
      const auto volume = of_group.find({channel.from, channel.to});
      if (volume == of_group.end()) continue;
      for (const QueuePair* sender : channel.senders) {
        Flow flow = {.job = j,
                     .from = sender->nic().number(),
                     .to = sender->peer().nic().number(),
                     .ports = {fabric.nic(sender->nic().number()).port}};
        for (const topology::PortIndex port : network.PathOf(*sender)) flow.ports.push_back(port);
        flow.frames = static_cast<double>(volume->second) / scenario->network.nics.mtu /
                      static_cast<double>(channel.senders.size()) * iterations;
        traffic.flows_.push_back(std::move(flow));
      }
    }
  }
  return traffic;
}

}  // namespace rocescope::sim
