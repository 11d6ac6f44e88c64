// SPDX-License-Identifier: BSD-3-Clause
// Writes down what really happens while a network runs: paths as they change, queues that stand.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/host/network.h"

namespace rocescope::sim {

class Recorder {
 public:
  static constexpr SimTime kLook = 10 * kMicrosecond;

  struct Path {
    SimTime start;
    SimTime end;
    std::vector<topology::PortIndex> ports;
    uint64_t bytes = 0;  // that the queue pair sent meanwhile: QueuePair::bytes_sent
  };
  struct Queue {
    topology::PortIndex port;
    uint32_t priority;
    SimTime start;
    SimTime end;
    uint64_t peak;  // octets
  };

  // `congested_from`: octets queued. All queue pairs must have been made by Start.
  Recorder(Network& network, uint64_t congested_from);
  void Start();
  void Finish();  // the run has ended

  // By the sender's queue pair.
  const std::vector<std::vector<Path>>& paths() const { return paths_; }
  const std::vector<Queue>& queues() const { return queues_; }

 private:
  static constexpr uint32_t kNoQueue = UINT32_MAX;

  void Look();
  void LookAtPaths(SimTime now);
  void LookAtQueues(SimTime now);
  void EndPath(uint32_t queue_pair, SimTime now);

  Network& network_;
  const uint64_t congested_from_;
  uint64_t version_ = UINT64_MAX;
  std::vector<std::vector<Path>> paths_;
  std::vector<uint64_t> bytes_before_;  // by queue pair: sent before its open path
  std::vector<Queue> queues_;
  std::vector<topology::PortIndex> watched_;  // switches' ports
  std::vector<uint32_t> open_;                // by watched port and priority: in queues_
  std::vector<uint8_t> open_count_;           // by watched port
  MemberEvent<Recorder, &Recorder::Look> look_{*this};
};

}  // namespace rocescope::sim
