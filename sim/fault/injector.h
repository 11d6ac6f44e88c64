// SPDX-License-Identifier: BSD-3-Clause
// Injects faults into a simulated network and records when each becomes visible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/fault/fault.h"
#include "sim/fault/outages.h"
#include "sim/fault/wire_fault.h"
#include "sim/fault/wire_faults.h"
#include "sim/host/network.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"

namespace rocescope::sim {

class Injector {
 public:
  struct Options {
    SimTime reroute_delay = 200 * kMicrosecond;  // from a change of a link's state to new routes
    SimTime end = kNever;                        // of the run: a growing fault is complete then
    uint64_t seed = 1;
  };
  // `network` and the jobs must outlive the injector.
  Injector(Network& network, std::vector<Job*> jobs, const Options& options);
  ~Injector();

  // kInvalidArgument: the place does not suit the kind. A fault that is not `active` only creates
  // what the fault needs, so that a run with it and a run without it are the same until its onset.
  Status Add(const FaultOptions& options, bool active = true);

  struct Happened {
    FaultOptions options;
    // Time at which the kind's measure reached its threshold, to within kLook: kVisibleFrames
    // affected frames unless README.md lists another measure. kNever: the fault never became
    // visible.
    SimTime visible = kNever;
    // Affected frames, for kinds that count them. Exact after the fault's end or after Finish().
    uint64_t affected = 0;
    std::vector<uint32_t> culprits;  // numbers of the queue pairs that the fault created
    // pfc_deadlock: the ports of the cycle. Each port waits for the next one.
    std::vector<topology::PortIndex> ports;
  };
  const std::vector<Happened>& happened() const { return happened_; }
  // Call once at the end of the run.
  void Finish();

  // Other causes of outages and frame errors, which may coincide with faults.
  Outages& outages() { return outages_; }
  WireFaults& wire_faults() { return wire_faults_; }

  static constexpr SimTime kLook = 10 * kMicrosecond;
  static constexpr uint64_t kVisibleFrames = 10;

 private:
  // What a fault does to the network, and how the injector notices that it is visible.
  struct Effect {
    std::function<void()> begin;
    std::function<void()> end;
    // Number of frames affected so far. Empty: the fault is visible as soon as it begins.
    std::function<uint64_t()> affected;
    uint64_t visible_from = kVisibleFrames;
    std::function<bool()> shows;  // replaces the comparison with visible_from
    bool trails = false;          // effects that appear after its end also belong to the fault
    // Sets the severity of an active fault, as a fraction of the final one. Only kinds that can
    // grow have it.
    std::function<void(double)> grow;
  };

  // effects.cc: one function for each kind, or for kinds that have nearly everything in common.
  Result<Effect> MakeEffect(const FaultOptions& options, Happened& happened);
  Effect LinkDown(const FaultOptions& options);
  Effect Flap(const FaultOptions& options);
  Effect DegradedRate(const FaultOptions& options);
  Effect AddedLatency(const FaultOptions& options);
  Effect FaultyLink(const FaultOptions& options, WireFault::Fate fate);
  Result<Effect> PfcDeadlock(const FaultOptions& options, Happened& happened);
  Effect SwappedCables(const FaultOptions& options);
  Effect Corruption(const FaultOptions& options);
  Effect LostCnps(const FaultOptions& options);
  Effect DeprioritisedCnps(const FaultOptions& options);
  Effect Polarisation(const FaultOptions& options);
  Effect Blackhole(const FaultOptions& options);
  Effect MtuMismatch(const FaultOptions& options);
  Effect MisconfiguredEcn(const FaultOptions& options);
  Effect MisconfiguredAlpha(const FaultOptions& options);
  Effect SwitchCrash(const FaultOptions& options);
  Effect SlowReceiver(const FaultOptions& options);
  Effect PfcStorm(const FaultOptions& options);
  Effect NicCrash(const FaultOptions& options);
  Effect AddedTraffic(const FaultOptions& options, Happened& happened);
  Result<Effect> Straggler(const FaultOptions& options);

  // Helpers of these functions.
  void SetFlap(const FaultOptions& options, const std::shared_ptr<bool>& down);
  std::vector<topology::PortIndex> Senders(const FaultOptions& options) const;
  std::function<uint64_t()> FramesSentBy(std::vector<topology::PortIndex> ports);

  void Begin(size_t number);
  void End(size_t number);
  void Look(size_t number);
  void Watch(size_t number);
  void Grow(size_t number);

  Network& network_;
  const std::vector<Job*> jobs_;
  const Options options_;
  Outages outages_;
  WireFaults wire_faults_;
  std::vector<Happened> happened_;
  std::vector<Effect> effects_;  // by index in happened_
  std::vector<size_t> watched_;  // indices of active faults whose affected frames are counted
  std::vector<std::unique_ptr<FaultyWire>> wires_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace rocescope::sim
