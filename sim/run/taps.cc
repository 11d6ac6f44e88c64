// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kPortSets = 4;  // sessions that a switch has

}  // namespace

Result<topology::Fabric> WithTaps(const topology::Fabric& fabric, MirrorPlan plan) {
  topology::Fabric::Parts parts = fabric.parts();
  if (plan == MirrorPlan::kNone) return topology::Fabric::Make(std::move(parts));
  for (topology::NodeIndex index = 0; index < parts.nodes.size(); ++index) {
    const topology::Node& node = parts.nodes[index];
    if (!node.IsSwitch()) continue;
    if (plan == MirrorPlan::kLeaf && node.tier != topology::Tier::kLeaf) continue;
    const uint32_t sessions = plan == MirrorPlan::kPortSets ? kPortSets : 1;
    for (uint32_t session = 0; session < sessions; ++session) {
      topology::Tap tap = {.node = index,
                           .session = session + 1,
                           .direction = topology::TapDirection::kIngress,
                           .names_port = plan != MirrorPlan::kPortSets};
      for (uint32_t port = session; port < node.port_count; port += sessions) {
        tap.ports.push_back(node.first_port + port);
      }
      if (!tap.ports.empty()) parts.taps.push_back(std::move(tap));
    }
  }
  return topology::Fabric::Make(std::move(parts));
}

}  // namespace rocescope::sim
