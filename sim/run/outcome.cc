// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/outcome.h"

#include <iterator>

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

}  // namespace rocescope::sim
