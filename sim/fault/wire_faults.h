// SPDX-License-Identifier: BSD-3-Clause
// What damages or delays frames on the links. Several faults and benign errors may act on the same
// direction of a link at the same time.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/host/network.h"

namespace rocescope::sim {

class WireFaults {
 public:
  // The network must outlive this object, or have no more events.
  explicit WireFaults(Network& network) : network_(network) {}
  WireFaults(const WireFaults&) = delete;  // ports refer to it
  WireFaults& operator=(const WireFaults&) = delete;

  // `fault` acts on the frames that `sender` sends, until Remove.
  void Add(topology::PortIndex sender, WireFault& fault) {
    ChainOf(sender).faults.push_back(&fault);
    Apply(sender);
  }
  void Remove(topology::PortIndex sender, const WireFault& fault) {
    std::erase(ChainOf(sender).faults, &fault);
    Apply(sender);
  }

 private:
  // The first fault that affects the frame decides its fate; the others do not affect it.
  struct Chain final : WireFault {
    Fate FateOf(const Frame& frame) override {
      for (WireFault* const fault : faults) {
        const Fate fate = fault->FateOf(frame);
        if (fate == Fate::kPasses) continue;
        delay_ = fault->delay();
        return fate;
      }
      return Fate::kPasses;
    }
    SimTime delay() const override { return delay_; }
    std::vector<WireFault*> faults;

   private:
    SimTime delay_ = 0;
  };

  Chain& ChainOf(topology::PortIndex port) {
    if (chains_.empty()) chains_.resize(network_.fabric().ports().size());
    if (!chains_[port]) chains_[port] = std::make_unique<Chain>();
    return *chains_[port];
  }
  void Apply(topology::PortIndex port) {
    Chain& chain = *chains_[port];
    network_.port(port).SetFault(chain.faults.empty()       ? nullptr
                                 : chain.faults.size() == 1 ? chain.faults[0]
                                                            : &chain);
  }

  Network& network_;
  std::vector<std::unique_ptr<Chain>> chains_;  // indexed by sending port
};

}  // namespace rocescope::sim
