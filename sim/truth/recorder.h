// SPDX-License-Identifier: BSD-3-Clause
// Records the ground truth of a running network: paths over time, and congested queues.
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
    uint64_t bytes = 0;  // sent by the queue pair on this path: QueuePair::bytes_sent
  };
  struct Queue {
    topology::PortIndex port;
    uint32_t priority;
    SimTime start;
    SimTime end;
    uint64_t peak;  // bytes
  };

  // `congested_from` is in queued bytes. All queue pairs must exist before Start.
  Recorder(Network& network, uint64_t congested_from);
  void Start();
  void Finish();  // call it at the end of the run

  // Indexed by the sender's queue pair.
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
  // Indexed by queue pair: bytes sent before its current path.
  std::vector<uint64_t> bytes_before_;
  std::vector<Queue> queues_;
  std::vector<topology::PortIndex> watched_;  // ports of switches
  std::vector<uint32_t> open_;                // by watched port and priority: index in queues_
  std::vector<uint8_t> open_count_;           // indexed by watched port
  MemberEvent<Recorder, &Recorder::Look> look_{*this};
};

}  // namespace rocescope::sim
