// SPDX-License-Identifier: BSD-3-Clause
// Collects the ground truth: paths of connections, links that went down, congested queues, and the
// numbers of RoCE packets that were sent, delivered and lost.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "sim/ns3_export/exporter.h"
#include "sim/ns3_export/port_monitor.h"
#include "topology/fabric.h"

namespace rocescope::ns3_export {

struct Connection {
  QueuePair first;
  QueuePair second;
  std::string job;
};

// Times are nanoseconds of simulated time.
class Truth {
 public:
  Truth(const topology::Fabric& fabric, const Options& options)
      : fabric_(fabric), options_(options) {}

  void Sends(PortMonitor& port, const ns3::Packet& packet);
  void Receives(PortMonitor& port, const ns3::Packet& packet);
  void Loses(PortMonitor& port, uint64_t uid, Loss cause);

  // The link of the port went down or came up.
  void LinkChanged(topology::LinkIndex link, bool up, int64_t now);
  // Records the current depth of a switch port's queue.
  void Queue(const PortMonitor& port, int64_t now);

  uint64_t link_events() const { return outages_.size(); }

  // The error names a connection whose address no host has.
  Result<std::string> Render(const std::vector<Connection>& connections, int64_t end);

 private:
  // Source address, destination address, destination QPN.
  using Flow = std::tuple<IpAddress, IpAddress, Qpn>;
  struct Path {
    int64_t start = 0;
    int64_t end = 0;
    std::vector<topology::PortIndex> ports;
    uint64_t bytes = 0;
  };
  struct Transit {
    Flow flow;
    int64_t start = 0;
    uint64_t bytes = 0;  // 0: not a request or READ response
    std::vector<topology::PortIndex> ports;
  };
  struct Outage {
    topology::LinkIndex link = 0;
    int64_t start = 0;
    int64_t end = -1;     // -1: still down
    uint64_t frames = 0;  // lost
  };
  struct CongestedQueue {
    topology::PortIndex port = 0;
    int64_t start = 0;
    int64_t end = -1;  // -1: still congested
    uint64_t peak = 0;
  };
  class Writer;

  bool IsHost(const PortMonitor& port) const {
    return !fabric_.node(fabric_.port(port.index()).node).IsSwitch();
  }
  void AddPath(Transit transit, int64_t now);

  const topology::Fabric& fabric_;
  const Options& options_;
  std::unordered_map<uint64_t, Transit> transits_;  // RoCE packets of hosts in flight, by uid
  std::map<Flow, std::vector<Path>> paths_;
  std::vector<Outage> outages_;
  std::vector<CongestedQueue> queues_;
  std::map<topology::PortIndex, size_t> open_queues_;
  bool has_unknown_queues_ = false;  // the threshold of a switch port is unknown
  uint64_t sent_ = 0;
  uint64_t delivered_ = 0;
  std::array<uint64_t, 6> lost_{};  // indexed by Loss
};

}  // namespace rocescope::ns3_export
