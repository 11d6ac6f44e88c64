// SPDX-License-Identifier: BSD-3-Clause
// Watermarks of queues and buffers for several readers. Reading a watermark of a switch resets it;
// here each reader gets the maximum since its own last reading.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/host/network.h"

namespace rocescope::sim {

class Watermarks {
 public:
  struct Peak {
    uint64_t queue_bytes = 0;
    uint64_t buffer_bytes = 0;
  };

  // The network must outlive this object.
  explicit Watermarks(Network& network) : network_(network) {}

  // Returns the number of a new reader. Call it before the first Take.
  uint32_t AddReader() {
    pending_.emplace_back(network_.fabric().ports().size() * kPriorities);
    return static_cast<uint32_t>(pending_.size() - 1);
  }
  // Returns the queue's maximum without a reset. Also for NICs.
  uint64_t QueuePeak(uint32_t reader, topology::PortIndex index, uint32_t priority) {
    return std::max(pending_[reader][index * kPriorities + priority].queue_bytes,
                    network_.port(index).counters().watermark[priority]);
  }
  // Returns the maxima since this reader's last call, for a port of a switch.
  Peak Take(uint32_t reader, topology::PortIndex index, uint32_t priority) {
    Port& port = network_.port(index);
    SharedBuffer& buffer = network_.switch_at(network_.fabric().port(index).node).buffer();
    const Peak peak = {.queue_bytes = port.counters().watermark[priority],
                       .buffer_bytes = buffer.TakePeak(port.number(), priority)};
    port.counters().watermark[priority] = port.queued(priority);
    for (auto& pending : pending_) {
      Peak& of = pending[index * kPriorities + priority];
      of = {.queue_bytes = std::max(of.queue_bytes, peak.queue_bytes),
            .buffer_bytes = std::max(of.buffer_bytes, peak.buffer_bytes)};
    }
    return std::exchange(pending_[reader][index * kPriorities + priority], {});
  }

 private:
  Network& network_;
  std::vector<std::vector<Peak>> pending_;  // by reader, then port and priority
};

}  // namespace rocescope::sim
