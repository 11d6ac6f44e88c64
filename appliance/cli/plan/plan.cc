// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/cli/plan/collector.h"
#include "appliance/cli/plan/config_names.h"
#include "appliance/cli/plan/sizing.h"
#include "appliance/cli/plan/warnings.h"
#include "appliance/common/config/byte_size.h"
#include "appliance/common/report/table.h"
#include "base/count_text.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;

// The choices to try, in order of preference. Copies without a direction from ports that are
// mirrored in both directions are ambiguous; this choice must be requested.
std::optional<size_t> FirstThatFits(const std::vector<MirrorPlan>& choices,
                                    const Settings& settings) {
  for (const MirrorChoice choice : {MirrorChoice::kNicsBoth, MirrorChoice::kNics,
                                    MirrorChoice::kSecondLeaves, MirrorChoice::kSomeNics}) {
    if (choice == MirrorChoice::kNicsBoth && !settings.tells_direction) continue;
    if (choices[static_cast<size_t>(choice)].Fits()) return static_cast<size_t>(choice);
  }
  return std::nullopt;
}

// Returns the switches whose copies cannot be identified.
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
  if (plan.nics_fit_sampled > 1 && options.one_in == 1) {
    plan.notes.push_back(
        fmt::format("--mirror nics --sample {} would fit all ports to NICs and count all traffic, "
                    "but the detection of loss and latency needs every packet of a flow. Mirroring "
                    "fewer ports without sampling shows both, for these ports only.",
                    plan.nics_fit_sampled));
  }
  if (options.one_in > 1) {
    plan.notes.push_back(
        "Sampled copies show sources, destinations, ports and volumes. The detection of loss and "
        "latency needs every packet: sampling causes PSN gaps.");
  }
  if (mirrors != nullptr && !mirrors->sessions.empty()) {
    plan.notes.push_back(
        "Copies use the fabric's links on the path to the collector, unless its address is in "
        "another network. Keep them out of the RoCE class: DSCP 0, a lossy queue without ECN and "
        "with the lowest priority.");
  }
  if (std::ranges::any_of(options.collectors, &Collector::IsPci)) {
    plan.notes.push_back(
        "A DPDK port does not answer ARP requests: add a static ARP entry for the collector's "
        "address on the switch that it is connected to.");
  }
  if (mirrors != nullptr && mirrors->choice == MirrorChoice::kUplinks &&
      !plan.settings.names_port) {
    plan.notes.push_back(
        "The copies do not identify the uplink: a packet is assigned to one of the ports of its "
        "session.");
  }
  if (!fabric.taps().empty()) {
    plan.notes.push_back(fmt::format("The topology file contains {}, which the plan replaces.",
                                     Counted(fabric.taps().size(), "mirror session")));
  }
  if (plan.need().history_bytes > kDefaultHistoryBytes) {
    plan.notes.push_back(fmt::format(
        "A history of {} days needs about {} of disk for the links, but its size is limited to {} "
        "by default: set history.max_bytes, or shorten history.keep_series.",
        kHistoryDays, HumanBytes(plan.need().history_bytes), FormatBytes(kDefaultHistoryBytes)));
  }
  if (plan.settings.shape.erspan == 2) {
    plan.notes.push_back(
        "ERSPAN type II does not contain the direction, and its index is interpreted as the port's "
        "ifIndex: if the switch uses another value, use --erspan 3.");
  }
  if (plan.settings.shape.truncation != 0 && plan.settings.shape.truncation < kGoodTruncation) {
    plan.notes.push_back(
        fmt::format("--truncate {} keeps the headers but not NCCL's clear-to-send messages; those "
                    "need {} bytes.",
                    plan.settings.shape.truncation, kGoodTruncation));
  }
  for (const std::string_view limit : plan.settings.platform->limits) {
    plan.notes.emplace_back(limit);
  }
}

// Powers of two; some platforms truncate copies only if they sample.
uint64_t LeastSampling(const Fabric& fabric, PlanOptions options) {
  for (; options.one_in <= 1u << 20; options.one_in *= 2) {
    const Result<Settings> settings = SettingsOf(options);
    if (!settings) break;
    if (PlanMirrors(fabric, options, *settings, MirrorChoice::kNics).Fits()) return options.one_in;
  }
  return 0;
}

// The kernel's sockets: DPDK takes its ports away from the kernel.
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
    return wrong(fmt::format("invalid --utilisation {}: must be above 0 and at most 1",
                             options.utilisation));
  }
  if (options.cores == 0u || options.memory == 0u) {
    return wrong("--cores and --memory must be at least 1");
  }
  if (options.path_mtu == 0 || options.packets_per_ack == 0 || options.one_in == 0 ||
      options.sessions == 0) {
    return wrong(
        "MTU, packets per ACK, sampling divisor and number of sessions must be at least 1");
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
                     "all collectors use DPDK, which has no sockets for sFlow and INT: use "
                     "--telemetry with the address of another interface");
  }
  for (size_t i = 0; i < kChoiceCount; ++i) {
    plan.choices.push_back(PlanMirrors(fabric, options, *settings, static_cast<MirrorChoice>(i)));
  }
  plan.chosen = options.choice ? static_cast<size_t>(*options.choice)
                               : FirstThatFits(plan.choices, *settings);
  if (plan.chosen && plan.mirrors()->sessions.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--mirror {}: the fabric has no such port that can be mirrored, "
                                 "or not one of them fits",
                                 WordOf(plan.mirrors()->choice)));
  }
  if (const MirrorPlan* mirrors = plan.mirrors()) {
    const std::string unnamed = WithoutErspanSource(fabric, *mirrors);
    if (!unnamed.empty()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("the topology file has no erspan_source for {}: add the source "
                                   "address of the copies to each switch",
                                   unnamed));
    }
  }
  plan.without_mirrors.collectors.resize(options.collectors.size());
  plan.without_mirrors.need = NeedOf(fabric, options, plan.without_mirrors);
  if (const Status machine = CheckMachine(plan); !machine) {
    return tl::unexpected(machine.error());
  }
  plan.nics_fit_sampled = LeastSampling(fabric, options);
  plan.sflow = PlanSflow(fabric, options, *settings,
                         plan.mirrors() == nullptr ? MirrorPlan{} : *plan.mirrors());
  for (const topology::Node& node : fabric.nodes()) {
    if (node.IsSwitch() && node.int_switch_id != topology::kNone) ++plan.int_switches;
  }
  if (const Status names = CheckConfigNames(fabric, plan); !names) {
    return tl::unexpected(names.error());
  }
  AddWarnings(fabric, plan);
  AddNotes(fabric, plan);
  return plan;
}

}  // namespace rocescope::plan
