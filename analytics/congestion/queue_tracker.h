// SPDX-License-Identifier: BSD-3-Clause
// How deep switches say, by INT, that a packet found its queue.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

struct QueueKey {
  topology::PortIndex port = topology::kNone;  // by which the packet left
  uint8_t queue = 0;                           // the switch's number for it

  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

struct QueueWindow {
  int64_t window = 0;       // its number since the epoch
  uint64_t peak_bytes = 0;  // octets; 0: not told
  Duration longest{};       // stay of a packet in the switch; 0: not told
  uint64_t congested = 0;   // packets of which the switch says that they found it congested
  uint64_t packets = 0;     // told of

  friend bool operator==(const QueueWindow&, const QueueWindow&) = default;
};

// Windows ascend.
using Queues = std::map<QueueKey, std::vector<QueueWindow>>;

struct QueueTrackerOptions {
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t queues = 1u << 18;
};

class QueueTracker {
 public:
  // The fabric must outlive it.
  explicit QueueTracker(const topology::Fabric& fabric, const QueueTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void Add(const HopRecord& record);

  const Queues& queues() const { return queues_; }
  uint64_t queues_refused() const { return queues_refused_; }  // records of such
  Duration window() const { return options_.window; }

 private:
  const topology::Fabric& fabric_;
  const QueueTrackerOptions options_;
  Queues queues_;
  uint64_t queues_refused_ = 0;
};

}  // namespace rocescope
