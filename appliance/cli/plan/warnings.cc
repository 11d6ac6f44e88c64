// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "appliance/cli/plan/plan_section.h"
#include "appliance/cli/plan/sizing.h"
#include "appliance/cli/plan/switch_config.h"
#include "appliance/common/report/table.h"
#include "base/count_text.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::NodeIndex;

constexpr size_t kMostPortWarnings = 10;

double PacketsOf(const MachineNeed& need) {
  double packets = 0;
  for (const ReceiveNeed& each : need.collectors) packets += each.packets_per_second;
  return packets;
}

std::string Millions(double packets) { return Rounded(packets / 1e6, 3) + " million packets/s"; }

// What lowers the packet rate. Truncation does not: it shortens copies.
std::string FewerPackets(const Plan& plan) {
  std::string text =
      "mirror fewer ports (--mirror; auto selects what fits), divide the switches among several "
      "appliances";
  text += plan.settings.platform->samples_mirrors
              ? ", or mirror one packet in N (--sample), which cannot show loss and latency"
              : fmt::format("; {} cannot sample mirrors", plan.settings.platform->title);
  return text;
}

std::string FewerFlows() {
  return "mirror fewer ports (--mirror), set a lower --queue-pairs if the jobs use "
         "fewer, or divide the switches among several appliances";
}

std::string CoresText(const Plan& plan, uint64_t cores, uint64_t other, std::string_view how) {
  const uint64_t have = *plan.options.cores;
  return fmt::format(
      "{} are needed{} ({} to receive {}, {} for everything else), but the machine has {} "
      "(--cores), {} too few. To need fewer, {}",
      Counted(cores, "core"), how, cores - other, Millions(PacketsOf(plan.need())), other, have,
      cores - have, FewerPackets(plan));
}

std::string MemoryText(const Plan& plan, uint64_t bytes, std::string_view how) {
  const uint64_t have = *plan.options.memory;
  return fmt::format(
      "{} of memory are needed{} ({}, {}), but the machine has {} (--memory), {} too little. To "
      "need less, {}",
      HumanBytes(bytes), how, Counted(plan.need().flows, "flow"),
      Counted(plan.need().ReceiveCores(), "receiving core"), HumanBytes(have),
      HumanBytes(bytes - have), FewerFlows());
}

void WarnOfMachine(Plan& plan) {
  const MachineNeed& need = plan.need();
  const PlanOptions& options = plan.options;
  if (options.cores && need.cores > *options.cores) {
    plan.warnings.push_back(CoresText(plan, need.cores, kOtherCores,
                                      fmt::format(" with the safety factor of {}", kCoreSafety)));
  }
  if (options.memory && need.memory_bytes > *options.memory) {
    plan.warnings.push_back(MemoryText(plan, need.memory_bytes, " with headroom"));
  }
  if (need.ReceiveCores() > kMostReceiveCores) {
    plan.warnings.push_back(
        fmt::format("{} are needed to receive {}, but one appliance receives with at most {}: {}",
                    Counted(need.ReceiveCores(), "core"), Millions(PacketsOf(need)),
                    kMostReceiveCores, FewerPackets(plan)));
  }
  if (need.flows > kMostFlows) {
    plan.warnings.push_back(fmt::format(
        "{} flows are expected, but one appliance tracks at most {}, and does not analyse the "
        "others: {}",
        WithThousands(need.flows), WithThousands(kMostFlows), FewerFlows()));
  }
  for (size_t i = 0; i < need.collectors.size(); ++i) {
    const Collector& collector = options.collectors[i];
    const double packets = need.collectors[i].packets_per_second;
    if (collector.IsPci() || packets <= static_cast<double>(kKernelPackets)) continue;
    plan.warnings.push_back(fmt::format(
        "{} receives {}, but the kernel delivers about {}: receive with DPDK (the PCI address of "
        "the port as NAME of --collector)",
        collector.interface, Millions(packets), Millions(kKernelPackets)));
  }
}

void WarnOfTelemetry(Plan& plan) {
  const double most = static_cast<double>(kDatagramsPerCore) / kCoreSafety;
  if (plan.sflow.samples_per_second > most) {
    plan.warnings.push_back(fmt::format(
        "{} sFlow samples/s are expected, but one core receives {} datagrams/s, and a datagram can "
        "have a single sample: use a lower --samples",
        WithThousands(static_cast<uint64_t>(plan.sflow.samples_per_second)),
        WithThousands(static_cast<uint64_t>(most))));
  }
}

// Switches with the same ports share a warning.
void WarnOfPortNames(const Fabric& fabric, Plan& plan) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<NodeIndex>> switches;
  for (const SwitchTask& task : SwitchTasks(fabric, plan)) {
    const std::string invalid = task.InvalidPorts();
    if (invalid.empty()) continue;
    std::vector<NodeIndex>& same = switches[invalid];
    if (same.empty()) order.push_back(invalid);
    same.push_back(task.node);
  }
  const Platform& platform = *plan.settings.platform;
  for (size_t i = 0; i < std::min(order.size(), kMostPortWarnings); ++i) {
    plan.warnings.push_back(fmt::format(
        "{}: invalid port names for {} (valid: {}): {}. The configuration contains them "
        "unchanged. Correct them in the topology file; `{}` lists the names",
        NamesOf(fabric, switches[order[i]]), platform.title, platform.port_form, order[i],
        platform.ports_command));
  }
  if (order.size() > kMostPortWarnings) {
    plan.warnings.push_back(
        fmt::format("more switches have ports that are not port names of {}: the comments in their "
                    "configurations list them",
                    platform.title));
  }
}

}  // namespace

Status CheckMachine(const Plan& plan) {
  const MachineNeed& need = plan.need();
  const PlanOptions& options = plan.options;
  if (need.BarelyFitsIn(options)) return {};
  const MirrorPlan* mirrors = plan.mirrors();
  const std::string subject =
      mirrors == nullptr ? "no mirrors" : fmt::format("--mirror {}", WordOf(mirrors->choice));
  constexpr std::string_view kHow = " even without a safety margin";
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: {}", subject,
                               options.cores && need.least_cores > *options.cores
                                   ? CoresText(plan, need.least_cores, kMeasuredOtherCores, kHow)
                                   : MemoryText(plan, need.least_memory_bytes, kHow)));
}

void AddWarnings(const Fabric& fabric, Plan& plan) {
  const MirrorPlan* mirrors = plan.mirrors();
  const PlanOptions& options = plan.options;
  if (mirrors == nullptr) {
    plan.warnings.push_back(fmt::format(
        "No choice fits, not even one port. Use faster or more collectors, a lower --utilisation, "
        "or --truncate and --sample if the switches support them{}.",
        options.cores || options.memory ? ", or a larger machine (--cores, --memory)" : ""));
  } else if (!mirrors->FitsLinks()) {
    plan.warnings.push_back(fmt::format(
        "The choice does not fit: at {:.0f} % utilisation, the most loaded collector receives "
        "{:.0f} % of "
        "its speed, so that copies are dropped. Use more collectors, or a choice that fits.",
        100 * options.utilisation, 100 * mirrors->fullest));
  }
  WarnOfMachine(plan);
  WarnOfTelemetry(plan);
  WarnOfPortNames(fabric, plan);
}

}  // namespace rocescope::plan
