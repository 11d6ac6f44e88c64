// SPDX-License-Identifier: BSD-3-Clause
// The collector port of the appliance: frames arrive one after another at its link rate, and frames
// that find its queue full are lost. Its clock is the wall clock.
#pragma once

#include <cstdint>
#include <span>

#include "base/address.h"
#include "base/time.h"
#include "sim/emit/frame_sink.h"
#include "sim/emit/wall_clock.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

struct CollectorPortOptions {
  WallClock clock;
  IpAddress address = IpAddress::FromV4(0xac10'ff01);  // 172.16.255.1
  uint64_t mac = 0x0200'00ff'0001;
  uint64_t bits_per_second = 100'000'000'000;
  uint64_t queue_bytes = 16u << 20;
  SimTime delay = 5 * kMicrosecond;  // from any switch to the queue
};

class CollectorPort {
 public:
  struct Counts {
    uint64_t frames = 0;  // frames that arrived
    uint64_t bytes = 0;   // bytes without FCS, before truncation for the file
    uint64_t lost = 0;    // frames
  };

  CollectorPort(const CollectorPortOptions& options, FrameSink& sink)
      : options_(options), sink_(sink) {}

  // Returns the buffer for a frame of `length` bytes sent at `now`, which never goes backwards.
  // Returns an empty span if the frame is lost.
  std::span<uint8_t> Begin(SimTime now, uint32_t length);
  // Completes the frame that Begin started.
  void End() { sink_.Add(arrival_, length_, length_); }

  // Returns the wall-clock time at `now`. Clocks without an error show the same time.
  Timestamp WallTime(SimTime now) const { return options_.clock.At(now); }

  const CollectorPortOptions& options() const { return options_; }
  const Counts& counts() const { return counts_; }

 private:
  const CollectorPortOptions options_;
  FrameSink& sink_;
  SimTime busy_until_ = 0;
  Timestamp arrival_;  // arrival of the current frame
  uint32_t length_ = 0;
  Counts counts_;
};

}  // namespace rocescope::sim
