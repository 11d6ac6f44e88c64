// SPDX-License-Identifier: BSD-3-Clause
// Configuration for the appliance's own files.
#include <fmt/format.h>

#include <algorithm>

#include "appliance/cli/plan/plan.h"
#include "appliance/cli/plan/sizing.h"
#include "appliance/common/config/listen_address.h"
#include "topology/yaml.h"

namespace rocescope::plan {

using topology::Fabric;

Result<Fabric> PlannedFabric(const Fabric& fabric, const Plan& plan) {
  Fabric::Parts parts = fabric.parts();
  parts.taps.clear();
  if (const MirrorPlan* mirrors = plan.mirrors()) {
    for (const MirrorSession& session : mirrors->sessions) parts.taps.push_back(session.tap);
  }
  return Fabric::Make(std::move(parts));
}

Result<std::string> MirrorsSection(const Fabric& fabric, const Plan& plan) {
  const Result<Fabric> planned = PlannedFabric(fabric, plan);
  if (!planned) return tl::unexpected(planned.error());
  const std::string whole = topology::WriteFabric(*planned);
  const size_t at = whole.find("\nmirrors:\n");  // the last section
  return at == std::string::npos ? std::string() : whole.substr(at + 1);
}

namespace {

constexpr uint64_t kGibibyte = uint64_t{1} << 30;

// The number of receiving lcores, if the machine is known: otherwise all lcores of the EAL receive.
std::string LcoresLine(const Plan& plan) {
  const PlanOptions& options = plan.options;
  if (!options.cores) return "";
  uint64_t cores = 0;
  for (size_t i = 0; i < options.collectors.size(); ++i) {
    if (options.collectors[i].IsPci()) cores += plan.need().collectors[i].cores;
  }
  const uint64_t available = *options.cores > kOtherCores ? *options.cores - kOtherCores : 1;
  return fmt::format("  lcores: {}\n",
                     std::clamp<uint64_t>(cores, 1, std::min(available, kMostReceiveCores)));
}

}  // namespace

std::string ApplianceYaml(const Plan& plan, std::string_view topology_file) {
  const PlanOptions& options = plan.options;
  std::string interfaces;
  std::string eal;
  for (const Collector& collector : options.collectors) {
    if (collector.IsPci()) {
      eal += fmt::format("{}-a, \"{}\"", eal.empty() ? "" : ", ", collector.interface);
      continue;
    }
    // Keep only as much of a copy as is read, plus space for the switches' tags, in steps of 64.
    const PacketShape& shape = plan.settings.shape;
    const uint32_t kept =
        shape.truncation == 0 ? kUsualTruncation : std::max(shape.truncation, kUsualTruncation);
    const uint32_t snap = (MirrorHeaders(shape.erspan) + kept + 8 + 63) / 64 * 64;
    interfaces += fmt::format(
        "  - {{name: \"{}\", filter: \"proto gre or (vlan and proto gre)\", snap: {}, "
        "buffer: 512M}}\n",
        collector.interface, snap);
  }
  std::string text = fmt::format("topology: \"{}\"\n", topology_file);
  // The default of 1 s is right for counters that are read more often.
  if (!plan.sflow.switches.empty()) {
    text += fmt::format(
        "# The switches send their counters every {} s (--polling): an analysis window must not be "
        "shorter,\n"
        "# because it needs a reading of each counter.\n"
        "analysis_window: {}s\n",
        options.polling_seconds, options.polling_seconds);
  }
  if (plan.need().budget_bytes > kDefaultBudget) {
    text += fmt::format("# Computed for {} flows.\nmemory: {}G\n", plan.need().flows,
                        (plan.need().budget_bytes + kGibibyte - 1) / kGibibyte);
  }
  if (!interfaces.empty()) text += "interfaces:\n" + interfaces;
  if (!eal.empty()) text += fmt::format("dpdk:\n  eal: [{}]\n", eal) + LcoresLine(plan);
  std::string udp;
  const auto listen = [&](uint16_t port) {
    return ToString(ListenAddress{.address = options.telemetry, .port = port});
  };
  if (!plan.sflow.switches.empty()) udp += fmt::format("  sflow: [\"{}\"]\n", listen(kSflowPort));
  if (plan.int_switches > 0) udp += fmt::format("  int: [\"{}\"]\n", listen(kIntReportPort));
  if (!udp.empty()) text += "udp:\n" + udp;
  return text;
}

}  // namespace rocescope::plan
