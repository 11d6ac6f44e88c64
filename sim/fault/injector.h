// SPDX-License-Identifier: BSD-3-Clause
// Makes faults happen in a network, and notes when each could first be seen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/fault/fault.h"
#include "sim/fault/wire_fault.h"
#include "sim/host/network.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"

namespace rocescope::sim {

class Injector {
 public:
  struct Options {
    SimTime reroute_delay = 200 * kMicrosecond;  // from a link's change to new routes
    uint64_t seed = 1;
  };
  // Both must outlive it; so must `jobs`' jobs.
  Injector(Network& network, std::vector<Job*> jobs, const Options& options);
  ~Injector();

  // kInvalidArgument: the place is none for this kind.
  Status Add(const FaultOptions& options);

  struct Happened {
    FaultOptions options;
    // From the fifth frame that it touched, or the first step of a counter; kNever: it never
    // showed. To within kLook.
    SimTime visible = kNever;
    uint64_t affected = 0;           // frames that it touched, where they can be told; exact once
                                     // it has ended, or behind Finish
    std::vector<uint32_t> culprits;  // queue pairs that it made, by number
    // pfc_deadlock: the loop's, each of which waits for the next one.
    std::vector<topology::PortIndex> ports;
  };
  const std::vector<Happened>& happened() const { return happened_; }
  void Finish();  // the run is over

  static constexpr SimTime kLook = 10 * kMicrosecond;

 private:
  struct Effect {
    std::function<void()> begin;
    std::function<void()> end;
    std::function<uint64_t()> affected;  // frames touched so far; empty: a counter steps at once
    uint64_t visible_from = 5;           // of them; 1 where it is a counter's step
    std::function<bool()> shows;         // instead: whether it does now
    bool trails = false;                 // what it began goes on behind its end, and is its doing
  };
  Result<Effect> MakeEffect(const FaultOptions& options, Happened& happened);
  Effect OfLink(const FaultOptions& options);
  Effect OfWire(const FaultOptions& options);
  Result<Effect> OfValley(const FaultOptions& options, Happened& happened);
  Effect OfCables(const FaultOptions& options);
  Effect OfSwitch(const FaultOptions& options);
  Effect OfNic(const FaultOptions& options, Happened& happened);
  Result<Effect> OfGpu(const FaultOptions& options);
  void Begin(size_t number);
  void End(size_t number);
  void Look(size_t number);
  void Watch(size_t number);
  void SetLink(topology::LinkIndex link, bool up);
  void Flap(const FaultOptions& options, bool up);
  void ChangeRoutes();
  std::vector<topology::PortIndex> Senders(const FaultOptions& options) const;

  Network& network_;
  const std::vector<Job*> jobs_;
  const Options options_;
  std::vector<bool> failed_links_;
  std::vector<Happened> happened_;
  std::vector<Effect> effects_;  // of happened_
  std::vector<size_t> watched_;  // of happened_: under way, and what they touch is counted
  std::vector<std::unique_ptr<LossyWire>> wires_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace rocescope::sim
