// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/sflow_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::NodeIndex;

// Rounded up, so that there are fewer samples and not more.
uint64_t RoundedRate(double one_in, const Platform& platform) {
  const auto most = static_cast<double>(platform.sflow_most);
  const auto whole = static_cast<uint64_t>(std::ceil(std::clamp(one_in, 1.0, most)));
  return std::clamp(std::bit_ceil(whole), platform.sflow_least, platform.sflow_most);
}

void ChooseSwitches(const Fabric& fabric, const Platform& platform, const MirrorPlan& mirrors,
                    SflowPlan& plan) {
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) continue;
    const bool is_mirroring = std::ranges::any_of(
        mirrors.sessions, [node](const MirrorSession& each) { return each.tap.node == node; });
    if (fabric.node(node).sflow_agent.IsUnspecified()) {
      plan.unnamed.push_back(node);
    } else if (is_mirroring && !platform.sflow_beside_mirrors) {
      plan.mirroring.push_back(node);
    } else {
      plan.switches.push_back(node);
    }
  }
}

}  // namespace

uint64_t SflowPlan::RateOf(uint64_t port_bits_per_second) const {
  const auto found =
      std::ranges::find(rates, port_bits_per_second, &SflowRate::port_bits_per_second);
  return found == rates.end() ? 0 : found->one_in;
}

SflowPlan PlanSflow(const Fabric& fabric, const PlanOptions& options, const Settings& settings,
                    const MirrorPlan& mirrors) {
  SflowPlan plan;
  if (options.samples_per_second <= 0) return plan;
  const Platform& platform = *settings.platform;
  ChooseSwitches(fabric, platform, mirrors, plan);
  std::map<uint64_t, size_t> ports_by_speed;
  size_t ports = 0;
  for (const NodeIndex node : plan.switches) {
    const topology::Node& owner = fabric.node(node);
    for (uint32_t i = 0; i < owner.port_count; ++i) {
      const uint64_t speed = fabric.SpeedOf(owner.first_port + i);
      if (speed == 0) continue;
      ++ports_by_speed[speed];
      ++ports;
    }
  }
  const auto packets = [&](uint64_t speed) {
    return TrafficAtLineRate(speed, settings.shape).per_second * options.utilisation *
           platform.sflow_directions;
  };
  double all_packets = 0;
  for (const auto& [speed, count] : ports_by_speed) {
    all_packets += packets(speed) * static_cast<double>(count);
  }
  for (const auto& [speed, count] : ports_by_speed) {
    const double exact =
        platform.sflow_rate_per_port ? packets(speed) * static_cast<double>(ports) : all_packets;
    SflowRate rate = {.port_bits_per_second = speed,
                      .ports = count,
                      .one_in = RoundedRate(exact / options.samples_per_second, platform)};
    rate.samples_per_second =
        packets(speed) * static_cast<double>(count) / static_cast<double>(rate.one_in);
    plan.samples_per_second += rate.samples_per_second;
    plan.rates.push_back(rate);
  }
  return plan;
}

}  // namespace rocescope::plan
