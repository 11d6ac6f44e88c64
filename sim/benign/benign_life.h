// SPDX-License-Identifier: BSD-3-Clause
// Benign events in the packet model: link errors, microbursts, harmless discards, planned
// maintenance. Its random numbers depend only on the seed and on the element.
#pragma once

#include <memory>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/benign/link_errors.h"
#include "sim/engine/random.h"
#include "sim/fault/outages.h"
#include "sim/fault/wire_faults.h"
#include "sim/host/network.h"

namespace rocescope::sim {

class BenignLife {
 public:
  struct Options {
    BenignOptions benign;
    std::vector<MaintenanceOptions> maintenance;
    SimTime end = 0;  // end of the run
    uint64_t seed = 1;
    uint8_t burst_priority = 0;  // a lossy one
  };
  // All arguments must outlive this object, or have no more events.
  BenignLife(Network& network, Outages& outages, WireFaults& wire_faults, const Options& options);
  BenignLife(const BenignLife&) = delete;  // events refer to it
  BenignLife& operator=(const BenignLife&) = delete;

  void Start();  // schedules everything; call it before the run

  struct Burst {
    SimTime time = 0;
    topology::NicIndex to = 0;
    std::vector<QueuePair*> senders;
  };
  const std::vector<Burst>& bursts() const { return bursts_; }

  // What has happened so far.
  std::vector<BenignEvent> Events() const;

 private:
  void PrepareLinkErrors();
  void PrepareBursts();
  void SendBurst(const Burst& burst);
  void StartDiscards();
  void Discard(topology::PortIndex port);
  void StartMaintenance();
  // Links and NICs that a piece of maintenance takes down.
  void Maintain(const MaintenanceOptions& work, bool down);
  void Drain(const MaintenanceOptions& work, bool drained);

  Network& network_;
  Outages& outages_;
  WireFaults& wire_faults_;
  const Options options_;
  std::vector<std::unique_ptr<LinkErrors>> link_errors_;  // by sending port; nullptr: none
  std::vector<Burst> bursts_;
  std::vector<topology::PortIndex> discarding_;  // ports with harmless discards
};

}  // namespace rocescope::sim
