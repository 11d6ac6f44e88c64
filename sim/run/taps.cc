// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <utility>

#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

using topology::Fabric;

constexpr uint32_t kPortSets = 4;  // sessions of a switch; its ports are distributed over them

// Session numbers, so that plans can be combined.
constexpr uint32_t kPortSession = 1;
constexpr uint32_t kFirstPortSetSession = 11;

// Selects every `sessions`-th port of a switch, starting at index `place`.
topology::Tap TapOf(const topology::Node& node, topology::NodeIndex index, uint32_t place,
                    uint32_t sessions) {
  topology::Tap tap = {.node = index, .direction = topology::TapDirection::kIngress};
  for (uint32_t port = place; port < node.port_count; port += sessions) {
    tap.ports.push_back(node.first_port + port);
  }
  return tap;
}

void AddTaps(Fabric::Parts& parts, topology::NodeIndex index, MirrorPlan plan) {
  const topology::Node& node = parts.nodes[index];
  const uint32_t sessions = plan == MirrorPlan::kPortSets ? kPortSets : 1;
  for (uint32_t place = 0; place < std::min(sessions, node.port_count); ++place) {
    topology::Tap tap = TapOf(node, index, place, sessions);
    tap.names_port = plan != MirrorPlan::kPortSets;
    tap.session = tap.names_port ? kPortSession : kFirstPortSetSession + place;
    parts.taps.push_back(std::move(tap));
  }
}

}  // namespace

Result<Fabric> WithTaps(const Fabric& fabric, std::span<const MirrorPlan> plans) {
  const auto planned = [&](MirrorPlan plan) {
    return std::find(plans.begin(), plans.end(), plan) != plans.end();
  };
  Fabric::Parts parts = fabric.parts();
  for (topology::NodeIndex index = 0; index < parts.nodes.size(); ++index) {
    const topology::Node& node = parts.nodes[index];
    if (!node.IsSwitch()) continue;
    // A plan for all switches includes the leaves.
    if (planned(MirrorPlan::kAll) ||
        (planned(MirrorPlan::kLeaf) && node.tier == topology::Tier::kLeaf)) {
      AddTaps(parts, index, MirrorPlan::kAll);
    }
    if (planned(MirrorPlan::kPortSets)) AddTaps(parts, index, MirrorPlan::kPortSets);
  }
  return Fabric::Make(std::move(parts));
}

}  // namespace rocescope::sim
