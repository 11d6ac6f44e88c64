// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "appliance/cli/plan/plan_section.h"
#include "appliance/common/report/table.h"
#include "base/count_text.h"
#include "base/text/quantity.h"

namespace rocescope::plan {

using topology::Fabric;

std::string SeenText(const Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  const Coverage seen = mirrors == nullptr ? Coverage{} : mirrors->coverage;
  std::string text = fmt::format(
      "\n"
      "OBSERVED\n"
      "\n"
      "  {} of NICs: all packets that they send; {}: all packets that they receive, with CE marks\n"
      "  {} of pairs of NICs, for uniform traffic: volumes, retransmissions, NAKs, CNPs\n"
      "  {} of links between switches: the packets on them\n",
      PerCent(seen.nics_sending), PerCent(seen.nics_receiving), PerCent(seen.pairs),
      PerCent(seen.fabric_links));
  text += "\nNOT OBSERVED\n\n";
  if (seen.fabric_links < 1) {
    text +=
        "  by mirrors, the path between leaves: sFlow shows it eventually for large flows, INT for "
        "each packet\n";
  }
  if (seen.nics_receiving < 1) {
    text +=
        "  CE marks and losses on the path to a NIC, except by its CNPs and NAKs and the sender's "
        "retransmissions\n";
  }
  if (seen.pairs < 1) {
    text += fmt::format("  {} of pairs of NICs, except by sFlow\n", PerCent(1 - seen.pairs));
  }
  text += "  PFC frames, which are never mirrored, and queues: counters and INT report them\n";
  return text;
}

std::string SflowText(const Fabric& fabric, const Plan& plan) {
  if (plan.options.samples_per_second <= 0) return "\nSFLOW: disabled (--samples 0)\n";
  const SflowPlan& sflow = plan.sflow;
  std::string text;
  if (sflow.rates.empty()) {
    text = "\nSFLOW: no switch\n\n";
  } else {
    text = fmt::format(
        "\n"
        "SFLOW: {} samples/s ({} requested; sampling rates are rounded up) from {} to {}:{}; "
        "counters every {} s\n"
        "\n",
        WithThousands(static_cast<uint64_t>(sflow.samples_per_second)),
        WithThousands(static_cast<uint64_t>(plan.options.samples_per_second)),
        NamesOf(fabric, sflow.switches), ToString(plan.options.telemetry), kSflowPort,
        plan.options.polling_seconds);
    TextTable table({{"PORTS OF"},
                     {"PORTS", Align::kRight},
                     {"SAMPLING RATE", Align::kRight},
                     {"SAMPLES/S", Align::kRight}});
    for (const SflowRate& rate : sflow.rates) {
      table.Add({topology::FormatSpeed(rate.port_bits_per_second), WithThousands(rate.ports),
                 WithThousands(rate.one_in),
                 WithThousands(static_cast<uint64_t>(rate.samples_per_second))});
    }
    text += table.Render(2);
  }
  if (!sflow.mirroring.empty()) {
    text +=
        fmt::format("  excluded: {}: {} does not support sFlow in addition to mirror sessions\n",
                    NamesOf(fabric, sflow.mirroring), plan.settings.platform->title);
  }
  if (!sflow.unnamed.empty()) {
    text += fmt::format("  excluded: {}: the topology file has no sflow_agent for them\n",
                        NamesOf(fabric, sflow.unnamed));
  }
  return text;
}

std::string IntText(const Plan& plan) {
  if (plan.int_switches == 0) {
    return "\nINT: no switch has an int_switch_id in the topology file\n";
  }
  return fmt::format(
      "\n"
      "INT: {} in the topology file; if supported (INT-XD, telemetry report 2.0), send reports to "
      "{}:{}\n",
      Counted(plan.int_switches, "switch id"), ToString(plan.options.telemetry), kIntReportPort);
}

}  // namespace rocescope::plan
