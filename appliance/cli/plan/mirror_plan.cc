// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/mirror_plan.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "appliance/cli/plan/mirrored_ports.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::PortIndex;
using topology::TapDirection;

struct ChoiceText {
  std::string_view word;
  std::string_view meaning;
};
constexpr std::array<ChoiceText, kChoiceCount> kChoices = {{
    {"nics-both", "ports to NICs, ingress and egress"},
    {"nics", "ports to NICs, ingress"},
    {"second-leaves", "ports to NICs of every second leaf, ingress"},
    {"some-nics", "as many ports to NICs of each leaf as fit, ingress"},
    {"uplinks", "ports of leaves to spines, ingress"},
}};

Load CopiesOf(const Fabric& fabric, const topology::Tap& tap, const PacketShape& shape) {
  Load load;
  for (const PortIndex port : tap.ports) {
    load += CopiesAtLineRate(fabric.SpeedOf(port), shape) *
            (tap.direction == TapDirection::kBoth ? 2.0 : 1.0);
  }
  return load;
}

// A port to a NIC is identified by the packets' addresses, an uplink only by its session: then the
// available sessions share the ports in order.
std::vector<topology::Tap> SessionsOf(const MirroredSwitch& mirrored, const PlanOptions& options,
                                      const Settings& settings, MirrorChoice choice) {
  topology::Tap tap = {.node = mirrored.node,
                       .session = settings.has_sessions ? 1u : 0u,
                       .direction = mirrored.direction,
                       .names_port = settings.names_port};
  size_t count = 1;
  if (choice == MirrorChoice::kUplinks && settings.has_sessions && !settings.names_port) {
    count = std::min<size_t>(options.sessions, mirrored.ports.size());
  }
  std::vector<topology::Tap> taps;
  for (size_t i = 0; i < count; ++i) {
    const auto at = [&](size_t part) {
      return mirrored.ports.begin() +
             static_cast<std::ptrdiff_t>(mirrored.ports.size() * part / count);
    };
    tap.ports.assign(at(i), at(i + 1));
    taps.push_back(tap);
    ++tap.session;
  }
  return taps;
}

// Assign the switch with the highest load to the least loaded collector. A switch is not divided:
// many platforms support one destination only.
void Assign(const Fabric& fabric, const PlanOptions& options, MirrorPlan& plan) {
  struct Group {
    size_t first = 0;
    size_t end = 0;
    Load load;
  };
  std::vector<Group> parts;
  for (size_t i = 0; i < plan.sessions.size(); ++i) {
    if (i == 0 || plan.sessions[i].tap.node != plan.sessions[i - 1].tap.node) {
      parts.push_back({.first = i, .end = i});
    }
    parts.back().end = i + 1;
    parts.back().load += plan.sessions[i].line_rate;
  }
  std::ranges::stable_sort(parts, [](const Group& a, const Group& b) {
    return a.load.bits_per_second > b.load.bits_per_second;
  });
  plan.collectors.resize(options.collectors.size());
  const auto share = [&](size_t i, double more) {
    return (plan.collectors[i].line_rate.bits_per_second + more) /
           static_cast<double>(options.collectors[i].bits_per_second);
  };
  for (const Group& part : parts) {
    const double more = part.load.bits_per_second;
    size_t best = 0;
    for (size_t i = 1; i < options.collectors.size(); ++i) {
      if (share(i, more) < share(best, more)) best = i;
    }
    CollectorLoad& to = plan.collectors[best];
    to.sessions += part.end - part.first;
    to.line_rate += part.load;
    const topology::Node& node = fabric.node(plan.sessions[part.first].tap.node);
    if (node.name != options.collectors[best].node) to.foreign_bits_per_second += more;
    for (size_t i = part.first; i < part.end; ++i) plan.sessions[i].collector = best;
  }
  for (size_t i = 0; i < plan.collectors.size(); ++i) {
    plan.fullest = std::max(plan.fullest, share(i, 0) * options.utilisation);
  }
}

MirrorPlan PlanPorts(const Fabric& fabric, const PlanOptions& options, const Settings& settings,
                     MirrorChoice choice, Part part) {
  MirrorPlan plan = {.choice = choice};
  for (const MirroredSwitch& mirrored : MirroredPorts(fabric, options, choice, part)) {
    plan.ports += mirrored.ports.size();
    for (topology::Tap& tap : SessionsOf(mirrored, options, settings, choice)) {
      const Load load = CopiesOf(fabric, tap, settings.shape);
      plan.sessions.push_back({.tap = std::move(tap), .line_rate = load});
    }
  }
  Assign(fabric, options, plan);
  plan.need = NeedOf(fabric, options, plan);
  plan.fits_machine = plan.need.FitsIn(options);
  return plan;
}

}  // namespace

std::string_view WordOf(MirrorChoice choice) { return kChoices[static_cast<size_t>(choice)].word; }
std::string_view MeaningOf(MirrorChoice choice) {
  return kChoices[static_cast<size_t>(choice)].meaning;
}

MirrorPlan PlanMirrors(const Fabric& fabric, const PlanOptions& options, const Settings& settings,
                       MirrorChoice choice) {
  const std::vector<topology::NodeIndex> leaves = LeavesOf(fabric);
  Part part = {.leaves = leaves.size()};
  for (const topology::NodeIndex leaf : leaves) {
    part.ports = std::max(part.ports, NicPortsOf(fabric, leaf).size());
  }
  MirrorPlan plan = PlanPorts(fabric, options, settings, choice, part);
  while (choice == MirrorChoice::kSomeNics && part.leaves > 0 && !plan.Fits()) {
    // Use fewer leaves only if not even one port of each leaf fits.
    --(part.ports > 1 ? part.ports : part.leaves);
    plan = PlanPorts(fabric, options, settings, choice, part);
  }
  plan.coverage = CoverageOf(fabric, plan);
  return plan;
}

}  // namespace rocescope::plan
