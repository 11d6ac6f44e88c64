// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/outcome.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>

#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

// Indexed by LossCause.
constexpr const char* kCauses[] = {"link_down",   "wire",     "bit_error", "buffer_full",
                                   "no_route",    "ttl",      "blackhole", "too_long",
                                   "device_down", "bad_icrc", "selective", "watchdog"};
static_assert(std::size(kCauses) == kLossCauses);

Outcome::Frames FramesOf(Simulation& simulation) {
  Network& network = simulation.network();
  Outcome::Frames frames;
  for (topology::NicIndex i = 0; i < simulation.fabric().nics().size(); ++i) {
    frames.sent += network.nic(i).counters().tx_frames;
    frames.delivered += network.nic(i).delivered();
  }
  frames.in_flight = network.shared().frames.out() - network.shared().pauses_out;
  for (size_t i = 0; i < kLossCauses; ++i) {
    const uint64_t lost = network.shared().lost[i];
    if (lost > 0) frames.lost.emplace_back(kCauses[i], lost);
  }
  return frames;
}

}  // namespace

Outcome OutcomeOf(Simulation& simulation) {
  Outcome outcome;
  for (const auto& job : simulation.jobs()) {
    outcome.starts.push_back(
        {.iterations = job->iterations(), .breaks = job->breaks(), .stopped = job->stopped()});
  }
  outcome.paths = simulation.recorder().paths();
  outcome.faults = simulation.injector().happened();
  outcome.queues = simulation.recorder().queues();
  outcome.frames = FramesOf(simulation);
  outcome.benign = simulation.benign().Events();
  outcome.retransmitted = simulation.retransmitted();
  return outcome;
}

std::string AffectedText(const Injector::Happened& fault, Model model) {
  const FaultKind kind = fault.options.kind;
  std::string_view what = "frames affected";
  bool counts = model == Model::kPacket || InfoOf(kind).loses_packets;
  switch (kind) {
    case FaultKind::kStraggler:
      what = "slow computations";
      break;
    case FaultKind::kMisconfiguredAlpha:
      what = "early pauses";
      break;
    case FaultKind::kLinkDown:
    case FaultKind::kFlap:
    case FaultKind::kSwitchCrash:
    case FaultKind::kNicCrash:
    case FaultKind::kPfcStorm:
    case FaultKind::kPfcDeadlock:
    case FaultKind::kSwappedCables:
      counts = fault.affected > 0;
      break;
    default:
      break;
  }
  return counts ? fmt::format("{} {}", fault.affected, what) : std::string();
}

}  // namespace rocescope::sim
