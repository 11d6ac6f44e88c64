// SPDX-License-Identifier: BSD-3-Clause
// The telemetry box's port as the fabric sees it: frames come to it after one another at its rate,
// and those that find the queue in front of it full are lost. Its clock is the wall's.
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
    uint64_t frames = 0;  // that came
    uint64_t bytes = 0;  // of them, without FCS, before they were cut for the file
    uint64_t lost = 0;    // frames
  };

  CollectorPort(const CollectorPortOptions& options, FrameSink& sink)
      : options_(options), sink_(sink) {}

  // Room for a frame of `length` octets that somebody sends at `now`, which never goes back; empty
  // if the frame is lost.
  std::span<uint8_t> Begin(SimTime now, uint32_t length);
  // The frame for which Begin gave room is written.
  void End() { sink_.Add(arrival_, length_, length_); }

  // What a clock in the fabric says at `now`: all of them are the wall's.
  Timestamp WallTime(SimTime now) const { return options_.clock.At(now); }

  const CollectorPortOptions& options() const { return options_; }
  const Counts& counts() const { return counts_; }

 private:
  const CollectorPortOptions options_;
  FrameSink& sink_;
  SimTime busy_until_ = 0;
  Timestamp arrival_;  // of the frame under way
  uint32_t length_ = 0;
  Counts counts_;
};

}  // namespace rocescope::sim
