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
    case CounterProblemKind::kFrameLength:
      return CounterDefect::kFrameLength;
    case CounterProblemKind::kRounded:
      return CounterDefect::kRounded;
    case CounterProblemKind::kFalls:
      return CounterDefect::kFalls;
  }
  return {};
}

}  // namespace

bool AreUsable(const DiagnosisInput& input, PortIndex sender, PortIndex receiver) {
  const CounterChecks& checks = input.parts().counter_checks;
  return !checks.ProblemOfSent(sender) && !checks.ProblemOfReceived(receiver);
}

bool CountsExposure(const DiagnosisInput& input, PortIndex receiver) {
  const auto problem = input.parts().counter_checks.ProblemOfReceived(receiver);
  return !problem || problem->kind == CounterProblemKind::kRounded;
}

bool HasSurplus(const DiagnosisInput& input, PortIndex sender) {
  if (input.parts().link_losses.HasSurplus(sender)) return true;
  const topology::LinkIndex index = input.fabric().port(sender).link;
  const size_t end = input.fabric().link(index).ends[0] == sender ? 0 : 1;
  const Balance& balance = input.link_balances().At(DirectionOf(index, end));
  return std::ranges::any_of(balance.missing,
                             [&](int64_t missing) { return missing < -FarOff(input, balance); });
}

bool AreUsable(const DiagnosisInput& input, topology::NodeIndex node) {
  const topology::Fabric& fabric = input.fabric();
  return std::ranges::all_of(fabric.PortsOf(node), [&](const topology::Port& at) {
    if (at.link == kNone) return true;
    const auto port = static_cast<PortIndex>(&at - fabric.ports().data());
    return AreUsable(input, port, port) && !HasSurplus(input, port) &&
           !HasSurplus(input, fabric.Peer(port));
  });
}

std::vector<UnusableCounters> UnusableCountersIn(const DiagnosisInput& input) {
  const topology::Fabric& fabric = input.fabric();
  const CounterChecks& checks = input.parts().counter_checks;
  std::array<UnusableCounters, kCounterDefects> all;
  const auto add = [&](CounterDefect defect, PortIndex port, double value) {
    UnusableCounters& one = all[static_cast<size_t>(defect)];
    one.defect = defect;
    if (one.ports.empty()) one.value = value;
    one.ports.push_back(port);
  };
  const auto add_both_ends = [&](CounterDefect defect, PortIndex port) {
    add(defect, port, 0);
    add(defect, fabric.Peer(port), 0);
  };
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.port(port).link == kNone) continue;
    std::optional<CounterProblem> problem = checks.ProblemOfSent(port);
    if (!problem) problem = checks.ProblemOfReceived(port);
    if (problem) add(DefectOf(problem->kind), port, problem->value);
    if (!problem && HasSurplus(input, port)) {
      add_both_ends(CounterDefect::kSurplus, port);
    }
  }
  const Mismatches mismatches = MismatchesIn(input);
  for (const PortIndex port : mismatches.refuted) add_both_ends(CounterDefect::kBytesAgree, port);
  for (const PortIndex port : mismatches.shared) add(CounterDefect::kMostMismatch, port, 0);
  // One statement for each port.
  const auto& agree = all[static_cast<size_t>(CounterDefect::kBytesAgree)].ports;
  std::erase_if(all[static_cast<size_t>(CounterDefect::kSurplus)].ports,
                [&](PortIndex port) { return std::ranges::find(agree, port) != agree.end(); });
  std::vector<UnusableCounters> found;
  for (UnusableCounters& one : all) {
    if (one.ports.empty()) continue;
    std::ranges::sort(one.ports);
    const auto repeated = std::ranges::unique(one.ports);
    one.ports.erase(repeated.begin(), repeated.end());
    found.push_back(std::move(one));
  }
  return found;
}

}  // namespace rocescope
