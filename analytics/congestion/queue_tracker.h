// SPDX-License-Identifier: BSD-3-Clause
// Queue depths and residence times that switches report through INT.
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
  topology::PortIndex port = topology::kNone;  // egress port
  uint8_t queue = 0;                           // queue number on the switch

  friend auto operator<=>(const QueueKey&, const QueueKey&) = default;
};

struct QueueWindow {
  int64_t window = 0;       // window number since the epoch
  uint64_t peak_bytes = 0;  // bytes; 0: not reported
  Duration longest{};       // maximum residence time of a packet in the switch; 0: not reported
  uint64_t congested = 0;   // packets that the switch reported as having met congestion
  uint64_t packets = 0;     // packets reported

  friend bool operator==(const QueueWindow&, const QueueWindow&) = default;
};

// Windows are ascending.
using Queues = std::map<QueueKey, std::vector<QueueWindow>>;

struct QueueTrackerOptions {
  Duration window = std::chrono::seconds(1);  // length of an analysis window
  size_t queues = 1u << 18;
};

class QueueTracker {
 public:
  // `fabric` must outlive this object.
  explicit QueueTracker(const topology::Fabric& fabric, const QueueTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void Add(const HopRecord& record);

  const Queues& queues() const { return queues_; }
  // Records dropped because the table was full.
  uint64_t queues_refused() const { return queues_refused_; }
  Duration window() const { return options_.window; }

 private:
  const topology::Fabric& fabric_;
  const QueueTrackerOptions options_;
  Queues queues_;
  uint64_t queues_refused_ = 0;
};

}  // namespace rocescope
