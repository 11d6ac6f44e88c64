// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/unusable_counters.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/link_balance.h"
#include "analytics/diagnosis/link_loss.h"
#include "analytics/link/counter_checks.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::PortIndex;

CounterDefect DefectOf(CounterProblemKind kind) {
  switch (kind) {
    case CounterProblemKind::kShortFrames:
      return CounterDefect::kShortFrames;
    case CounterProblemKind::kLongFrames:
      return CounterDefect::kLongFrames;
    case CounterProblemKind::kRounded:
      return CounterDefect::kRounded;
    case CounterProblemKind::kFalls:
      return CounterDefect::kFalls;
  }
  return {};
}

bool AreWrong(const std::optional<CounterProblem>& packets) {
  return packets && !packets->AreOnlyBytesWrong();
}

}  // namespace

bool AreUsable(const DiagnosisInput& input, PortIndex sender, PortIndex receiver) {
  const CounterChecks& checks = input.parts().counter_checks;
  return !AreWrong(checks.ProblemOfSent(sender)) && !AreWrong(checks.ProblemOfReceived(receiver));
}

bool CountsExposure(const DiagnosisInput& input, PortIndex receiver) {
  const auto problem = input.parts().counter_checks.ProblemOfReceived(receiver);
  return !AreWrong(problem) || problem->kind == CounterProblemKind::kRounded;
}

uint64_t SurplusFrom(const DiagnosisInput& input, PortIndex sender) {
  const topology::LinkIndex index = input.fabric().port(sender).link;
  const size_t end = input.fabric().link(index).ends[0] == sender ? 0 : 1;
  const Balance& balance = input.link_balances().At(DirectionOf(index, end));
  if (!balance.missing.empty()) {
    const int64_t least = std::ranges::min(balance.missing);
    if (least < -FarOff(input, balance)) return static_cast<uint64_t>(-least);
  }
  const uint64_t ever = input.parts().link_losses.SurplusFrom(sender);
  const MetricSeries* sent = input.parts().metrics.Find(input.EntityOf(sender), Metric::kTxPackets);
  if (ever == 0 || sent == nullptr || input.windows() == 0) return ever;
  const Duration whole = sent->last_reading() - sent->first_reading();
  const Duration stored = input.EndOf(input.windows() - 1) - input.BeginOf(0);
  if (whole <= stored) return ever;
  const double share = static_cast<double>(stored.count()) / static_cast<double>(whole.count());
  return 1 + static_cast<uint64_t>(share * static_cast<double>(ever));
}

uint64_t SurplusAt(const DiagnosisInput& input, topology::NodeIndex node) {
  const topology::Fabric& fabric = input.fabric();
  uint64_t sum = 0;
  for (const topology::Port& at : fabric.PortsOf(node)) {
    if (at.link == kNone) continue;
    for (const PortIndex end : fabric.link(at.link).ends) sum += SurplusFrom(input, end);
  }
  return sum;
}

bool AreUsable(const DiagnosisInput& input, topology::NodeIndex node) {
  const topology::Fabric& fabric = input.fabric();
  return std::ranges::all_of(fabric.PortsOf(node), [&](const topology::Port& at) {
    if (at.link == kNone) return true;
    const auto port = static_cast<PortIndex>(&at - fabric.ports().data());
    return AreUsable(input, port, port);
  });
}

std::vector<UnusableCounters> UnusableCountersIn(const DiagnosisInput& input) {
  const topology::Fabric& fabric = input.fabric();
  const CounterChecks& checks = input.parts().counter_checks;
  std::array<UnusableCounters, kCounterDefects> all;
  std::vector<bool> has_defect(fabric.ports().size());
  const auto add = [&](CounterDefect defect, PortIndex port, double value) {
    if (has_defect[port]) return;
    has_defect[port] = true;
    UnusableCounters& one = all[static_cast<size_t>(defect)];
    one.defect = defect;
    if (one.ports.empty()) one.value = value;
    one.ports.push_back(port);
  };
  const auto add_both_ends = [&](CounterDefect defect, PortIndex port) {
    add(defect, port, 0);
    add(defect, fabric.Peer(port), 0);
  };
  const Mismatches mismatches = MismatchesIn(input);
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.port(port).link == kNone) continue;
    std::optional<CounterProblem> problem = checks.ProblemOfSent(port);
    if (!problem) problem = checks.ProblemOfReceived(port);
    if (problem) add(DefectOf(problem->kind), port, problem->value);
  }
  for (const PortIndex port : mismatches.refuted) add_both_ends(CounterDefect::kBytesAgree, port);
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.port(port).link == kNone || !HasSurplus(input, port)) continue;
    add_both_ends(CounterDefect::kSurplus, port);
  }
  for (const PortIndex port : mismatches.shared) add(CounterDefect::kMostMismatch, port, 0);
  std::vector<UnusableCounters> found;
  for (UnusableCounters& one : all) {
    if (one.ports.empty()) continue;
    std::ranges::sort(one.ports);
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace rocescope
