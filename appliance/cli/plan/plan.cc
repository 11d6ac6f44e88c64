// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/cli/plan/collector.h"
#include "base/count_text.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;

// What to try, from the most that is seen. Copies without a direction of ports that are mirrored
// both ways cannot be told apart: there the choice is left to who asks for it.
std::optional<size_t> FirstThatFits(const std::vector<MirrorPlan>& choices,
                                    const Settings& settings) {
  for (const MirrorChoice choice : {MirrorChoice::kNicsBoth, MirrorChoice::kNics,
                                    MirrorChoice::kSecondLeaves, MirrorChoice::kSomeNics}) {
    if (choice == MirrorChoice::kNicsBoth && !settings.tells_direction) continue;
    if (choices[static_cast<size_t>(choice)].Fits()) return static_cast<size_t>(choice);
  }
  return std::nullopt;
}

// Switches whose copies nobody could tell from others'.
std::string WithoutErspanSource(const Fabric& fabric, const MirrorPlan& plan) {
  std::string names;
  size_t count = 0;
  topology::NodeIndex last = topology::kNone;
  for (const MirrorSession& session : plan.sessions) {
    const topology::Node& node = fabric.node(session.tap.node);
    if (session.tap.node == last || !node.erspan_source.IsUnspecified()) continue;
    last = session.tap.node;
    if (++count <= 3) names += (names.empty() ? "" : ", ") + node.name;
  }
  return count > 3 ? fmt::format("{} and {} more", names, count - 3) : names;
}

void AddNotes(const Fabric& fabric, Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  const PlanOptions& options = plan.options;
  if (mirrors == nullptr) {
    plan.notes.push_back(
        "Nothing fits, not even one port. Give faster collectors or more of them, a "
        "lower --utilisation, or --truncate and --sample where the switches can.");
  } else if (!mirrors->Fits() && !mirrors->sessions.empty()) {
    plan.notes.push_back(
        fmt::format("It does not fit: at {:.0f} % utilisation the fullest collector gets {:.0f} % "
                    "of its speed, "
                    "and copies are lost at random. Give more collectors, or a choice that fits.",
                    100 * options.utilisation, 100 * mirrors->fullest));
  }
  if (plan.nics_fit_sampled > 1 && options.one_in == 1) {
    plan.notes.push_back(fmt::format(
        "--mirror nics --sample {} would take in all ports to NICs: all traffic would be counted, "
        "but "
        "loss and latency need every packet of a flow. Fewer ports with all of their packets show "
        "both, of these alone.",
        plan.nics_fit_sampled));
  }
  if (options.one_in > 1) {
    plan.notes.push_back(
        "Sampled copies say who talks to whom, over which ports, and how much. Loss and latency "
        "need every packet: sequence gaps are then the sampling's.");
  }
  if (mirrors != nullptr && !mirrors->sessions.empty()) {
    plan.notes.push_back(
        "Copies share the fabric's links on their way to the collector, unless its address is "
        "reached elsewhere. Keep them out of RoCE's class: DSCP 0, a queue without PFC and ECN "
        "that is served last.");
  }
  if (std::ranges::any_of(options.collectors, &Collector::IsPci)) {
    plan.notes.push_back(
        "A port of DPDK answers no ARP: give the switch that it is plugged into a static entry for "
        "the collector's address.");
  }
  if (mirrors != nullptr && mirrors->choice == MirrorChoice::kUplinks &&
      !plan.settings.names_port) {
    plan.notes.push_back(
        "The copies do not name the uplink: a packet is placed on one of its session's ports.");
  }
  if (!fabric.taps().empty()) {
    plan.notes.push_back(fmt::format("The fabric's file has {}, which the plan replaces.",
                                     Counted(fabric.taps().size(), "mirror session")));
  }
  if (plan.settings.shape.erspan == 2) {
    plan.notes.push_back(
        "ERSPAN type II does not tell direction, and what it has as index is taken for the port's "
        "ifIndex: where the switch puts something else there, give --erspan 3.");
  }
  if (plan.settings.shape.truncation != 0 && plan.settings.shape.truncation < kGoodTruncation) {
    plan.notes.push_back(fmt::format(
        "--truncate {} keeps headers but not the grants of NCCL's buffers; those need {} octets.",
        plan.settings.shape.truncation, kGoodTruncation));
  }
  for (const std::string_view limit : plan.settings.platform->limits) {
    plan.notes.emplace_back(limit);
  }
}

// Powers of two; a platform may cut copies short only where it samples.
uint64_t LeastSampling(const Fabric& fabric, PlanOptions options) {
  for (; options.one_in <= 1u << 20; options.one_in *= 2) {
    const Result<Settings> settings = SettingsOf(options);
    if (!settings) break;
    if (PlanMirrors(fabric, options, *settings, MirrorChoice::kNics).Fits()) return options.one_in;
  }
  return 0;
}

// Where the kernel listens: DPDK takes its ports away from it.
IpAddress TelemetryAddress(const PlanOptions& options) {
  if (!options.telemetry.IsUnspecified()) return options.telemetry;
  const auto found = std::ranges::find_if_not(options.collectors, &Collector::IsPci);
  return found == options.collectors.end() ? IpAddress{} : found->address;
}

Status CheckNumbers(const PlanOptions& options) {
  const auto wrong = [](std::string message) {
    return MakeError(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (!(options.utilisation > 0 && options.utilisation <= 1)) {
    return wrong(fmt::format("a utilisation of {} is not possible: give a share above 0, up to 1",
                             options.utilisation));
  }
  if (options.path_mtu == 0 || options.packets_per_ack == 0 || options.one_in == 0 ||
      options.sessions == 0) {
    return wrong("MTU, packets for an ACK, sampling and sessions are 1 or more");
  }
  return {};
}

}  // namespace

Result<Plan> MakePlan(const Fabric& fabric, const PlanOptions& options) {
  if (const Status numbers = CheckNumbers(options); !numbers) {
    return tl::unexpected(numbers.error());
  }
  Result<Settings> settings = SettingsOf(options);
  if (!settings) return tl::unexpected(settings.error());
  if (const Status collectors = CheckCollectors(fabric, options.collectors); !collectors) {
    return tl::unexpected(collectors.error());
  }
  Plan plan = {.options = options, .settings = *settings};
  plan.options.telemetry = TelemetryAddress(options);
  if (plan.options.telemetry.IsUnspecified()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "all collectors are DPDK's, where no socket listens: give --telemetry the "
                     "address of another interface for sFlow and INT");
  }
  for (size_t i = 0; i < kChoiceCount; ++i) {
    plan.choices.push_back(PlanMirrors(fabric, options, *settings, static_cast<MirrorChoice>(i)));
  }
  plan.chosen = options.choice ? static_cast<size_t>(*options.choice)
                               : FirstThatFits(plan.choices, *settings);
  if (plan.chosen && plan.mirrors()->sessions.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--mirror {}: the fabric has no such port that could be mirrored, "
                                 "or not one of them fits",
                                 WordOf(plan.mirrors()->choice)));
  }
  if (const MirrorPlan* mirrors = plan.mirrors()) {
    const std::string unnamed = WithoutErspanSource(fabric, *mirrors);
    if (!unnamed.empty()) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("the fabric's file has no erspan_source for {}: give each switch "
                      "the address that its copies come from",
                      unnamed));
    }
  }
  plan.nics_fit_sampled = LeastSampling(fabric, options);
  plan.sflow = PlanSflow(fabric, options, *settings,
                         plan.mirrors() == nullptr ? MirrorPlan{} : *plan.mirrors());
  for (const topology::Node& node : fabric.nodes()) {
    if (node.IsSwitch() && node.int_switch_id != topology::kNone) ++plan.int_switches;
  }
  AddNotes(fabric, plan);
  return plan;
}

}  // namespace rocescope::plan
