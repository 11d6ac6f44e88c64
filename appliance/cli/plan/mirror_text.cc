// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "appliance/cli/plan/plan_section.h"
#include "appliance/cli/plan/sizing.h"
#include "appliance/common/report/table.h"
#include "base/count_text.h"
#include "base/text/name_range.h"
#include "base/text/quantity.h"

namespace rocescope::plan {

using topology::Fabric;

namespace {

constexpr size_t kMaxRows = 20;

std::string PortsOf(const Fabric& fabric, const topology::Tap& tap) {
  std::vector<std::string> names;
  names.reserve(tap.ports.size());
  for (const topology::PortIndex port : tap.ports) names.push_back(fabric.port(port).name);
  return topology::CompressNames(names);
}

std::string MachineText(const Plan& plan) {
  const MachineNeed& need = plan.need();
  std::string text = fmt::format(
      "\n"
      "APPLIANCE\n"
      "\n"
      "  cores: {} ({} to receive, one for each {} packets/s with a safety factor of {}; {} for "
      "the analysis and everything else)\n"
      "  memory: {} (budget: {}, key `memory`) for {}, with {} of each NIC\n"
      "  disk: {} for {} days of link history, if history.file is set; results for `at_time` need "
      "more, up to history.max_bytes\n",
      WithThousands(need.cores), WithThousands(need.ReceiveCores()), WithThousands(kPacketsPerCore),
      kCoreSafety, kOtherCores, HumanBytes(need.memory_bytes), HumanBytes(need.budget_bytes),
      Counted(need.flows, "flow"), Counted(plan.options.queue_pairs, "queue pair"),
      HumanBytes(need.history_bytes), kHistoryDays);
  const PlanOptions& options = plan.options;
  if (!options.cores && !options.memory) {
    return text + "  not compared with a machine; state its --cores and --memory\n";
  }
  if (need.FitsIn(options)) {
    text += fmt::format("  fits the machine: {}{}{}\n",
                        options.cores ? Counted(*options.cores, "core") : "",
                        options.cores && options.memory ? ", " : "",
                        options.memory ? HumanBytes(*options.memory) + " of memory" : "");
  }
  return text;
}

}  // namespace

std::string ChoicesText(const Plan& plan) {
  TextTable table({{""},
                   {"MIRROR"},
                   {"PORTS", Align::kRight},
                   {"COPIES", Align::kRight},
                   {"AT LINE RATE", Align::kRight},
                   {"MAX LOAD", Align::kRight},
                   {"NICS OBSERVED", Align::kRight},
                   {"PAIRS OBSERVED", Align::kRight},
                   {"LINKS OBSERVED", Align::kRight},
                   {"CORES", Align::kRight},
                   {"MEMORY", Align::kRight},
                   {""}});
  for (const MirrorPlan& each : plan.choices) {
    double bits = 0;
    for (const CollectorLoad& load : each.collectors) bits += load.line_rate.bits_per_second;
    table.Add({&each == plan.mirrors() ? ">" : "", std::string(WordOf(each.choice)),
               WithThousands(each.ports), BitRate(bits * plan.options.utilisation), BitRate(bits),
               PerCent(each.fullest), PerCent(each.coverage.nics_sending),
               PerCent(each.coverage.pairs), PerCent(each.coverage.fabric_links),
               WithThousands(each.need.cores), HumanBytes(each.need.memory_bytes),
               each.sessions.empty() ? "nothing to mirror"
               : each.Fits()         ? "fits"
               : each.FitsLinks()    ? "exceeds the machine"
                                     : "does not fit"});
  }
  return "\nMIRROR OPTIONS (--mirror); > is the selected one\n\n" + table.Render(2) +
         fmt::format(
             "\n"
             "  COPIES: at {} of line rate. MAX LOAD: load of the fullest collector; above {} it "
             "drops copies.\n"
             "  NICS OBSERVED: all packets that they send. PAIRS OBSERVED: traffic from one NIC to "
             "another.\n"
             "  LINKS OBSERVED: between switches, each direction separately.\n"
             "  CORES, MEMORY: of the appliance, with a margin (docs/sizing.md).\n"
             "  nics-both shows losses and delays between two NICs; nics shows each packet once; "
             "uplinks shows the spine\n"
             "  of each packet, but no traffic within a leaf.\n",
             PerCent(plan.options.utilisation), PerCent(kFullShare));
}

std::string CollectorsText(const Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  if (mirrors == nullptr) return MachineText(plan);
  TextTable table({{"COLLECTOR"},
                   {"AT"},
                   {"ADDRESS"},
                   {"SPEED", Align::kRight},
                   {"SESSIONS", Align::kRight},
                   {"COPIES", Align::kRight},
                   {"", Align::kRight},
                   {"LOAD", Align::kRight},
                   {"AT LINE RATE", Align::kRight},
                   {"FROM OTHER SWITCHES", Align::kRight},
                   {"CORES", Align::kRight},
                   {"MEMORY", Align::kRight}});
  for (size_t i = 0; i < plan.options.collectors.size(); ++i) {
    const Collector& collector = plan.options.collectors[i];
    const CollectorLoad& load = mirrors->collectors[i];
    const ReceiveNeed& need = mirrors->need.collectors[i];
    const Load now = load.line_rate * plan.options.utilisation;
    table.Add({collector.interface, collector.node + ":" + collector.port,
               ToString(collector.address), topology::FormatSpeed(collector.bits_per_second),
               WithThousands(load.sessions), BitRate(now.bits_per_second),
               PacketRate(now.per_second),
               PerCent(now.bits_per_second / static_cast<double>(collector.bits_per_second)),
               BitRate(load.line_rate.bits_per_second),
               BitRate(load.foreign_bits_per_second * plan.options.utilisation),
               WithThousands(need.cores), HumanBytes(need.memory_bytes)});
  }
  return "\nCOLLECTORS\n\n" + table.Render(2) + MachineText(plan);
}

std::string SessionsText(const Fabric& fabric, const Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  if (mirrors == nullptr) return "";
  TextTable table({{"SWITCH"},
                   {"SESSION", Align::kRight},
                   {"DIRECTION"},
                   {"PORTS"},
                   {"TO"},
                   {"COPIES", Align::kRight},
                   {"AT LINE RATE", Align::kRight}});
  const size_t shown = std::min(mirrors->sessions.size(), kMaxRows);
  for (size_t i = 0; i < shown; ++i) {
    const MirrorSession& session = mirrors->sessions[i];
    table.Add({fabric.node(session.tap.node).name,
               plan.settings.has_sessions ? WithThousands(session.tap.session) : "-",
               std::string(NameOf(session.tap.direction)), PortsOf(fabric, session.tap),
               plan.options.collectors[session.collector].interface,
               BitRate(session.line_rate.bits_per_second * plan.options.utilisation),
               BitRate(session.line_rate.bits_per_second)});
  }
  std::string text = "\nMIRROR SESSIONS\n\n" + table.Render(2);
  if (shown < mirrors->sessions.size()) {
    text +=
        fmt::format("  ... and {} more; use -o json for all\n", mirrors->sessions.size() - shown);
  }
  return text;
}

}  // namespace rocescope::plan
