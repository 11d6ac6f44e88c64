// SPDX-License-Identifier: BSD-3-Clause
// The shared packet buffer of a switch ASIC: each priority of a port has a small reserve, then a
// share of the free buffer (dynamic threshold: Choudhury and Hahne, 1998), then, once its sender
// was paused, headroom for packets in flight.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/net/frame.h"

namespace rocescope::sim {

struct BufferOptions {
  uint64_t bytes = 9u << 20;
  double alpha = 1.0 / 8;         // share of the free buffer that a lossless ingress queue may use
  double egress_alpha = 1.0;      // share of the free buffer that a lossy egress queue may use
  uint64_t reserve = 4096;        // bytes for each priority of a port
  uint64_t resume_offset = 3072;  // XON threshold: this many bytes below XOFF
  // Bytes for each lossless priority of a port; 0: computed from the link's rate and delay.
  uint64_t headroom = 0;
  uint8_t lossless = 1u << 3;  // mask of priorities with PFC
};

class SharedBuffer {
 public:
  SharedBuffer(const BufferOptions& options, size_t ports)
      : options_(options),
        configured_alpha_(options.alpha),
        headroom_limit_(ports, options.headroom),
        places_(ports * kPriorities) {}

  // Call it before the first frame. Reserves and headroom are subtracted from the shared buffer.
  void SetHeadroom(size_t port, uint64_t bytes) { headroom_limit_[port] = bytes; }
  void Seal() {
    uint64_t set_apart = 0;
    for (const uint64_t bytes : headroom_limit_) {
      set_apart += bytes * static_cast<uint64_t>(__builtin_popcount(options_.lossless));
      set_apart += options_.reserve * kPriorities;
    }
    shared_ = options_.bytes > set_apart ? options_.bytes - set_apart : 0;
  }

  // Returns false if the buffer is full: the frame is lost.
  bool Admit(size_t port, uint32_t priority, uint32_t bytes, uint64_t egress_queued) {
    Place& place = At(port, priority);
    const bool lossless = IsLossless(priority);
    const uint64_t limit = Threshold();
    const uint64_t held = place.bytes + bytes;
    if (held > options_.reserve) {
      if (lossless) {
        if (held - options_.reserve > limit) {
          if (place.headroom + bytes > headroom_limit_[port]) return false;
          place.headroom += bytes;
          used_ += bytes;
          place.peak = std::max(place.peak, place.bytes + place.headroom);
          return true;
        }
      } else if (static_cast<double>(egress_queued + bytes) >
                 options_.egress_alpha * static_cast<double>(Free())) {
        return false;
      }
      shared_used_ += std::min<uint64_t>(bytes, held - options_.reserve);
    }
    place.bytes = held;
    used_ += bytes;
    place.peak = std::max(place.peak, place.bytes + place.headroom);
    return true;
  }

  void Release(size_t port, uint32_t priority, uint32_t bytes) {
    Place& place = At(port, priority);
    used_ -= bytes;
    const uint64_t from_headroom = std::min<uint64_t>(place.headroom, bytes);
    place.headroom -= from_headroom;
    const uint64_t rest = bytes - from_headroom;
    shared_used_ -= std::min(rest, SharedBy(place));
    place.bytes -= rest;
  }

  bool ShouldPause(size_t port, uint32_t priority) const {
    const Place& place = At(port, priority);
    return IsLossless(priority) && (place.headroom > 0 || SharedBy(place) >= Threshold());
  }
  // The decision with the configured alpha, whatever SetAlpha changed.
  bool ShouldPauseAsConfigured(size_t port, uint32_t priority) const {
    return IsLossless(priority) &&
           static_cast<double>(SharedBy(At(port, priority)) + At(port, priority).headroom) >=
               std::floor(configured_alpha_ * static_cast<double>(Free()));
  }
  bool ShouldResume(size_t port, uint32_t priority) const {
    const Place& place = At(port, priority);
    const uint64_t shared = SharedBy(place);
    return place.headroom == 0 && (shared == 0 || shared + options_.resume_offset <= Threshold());
  }

  bool IsLossless(uint32_t priority) const { return (options_.lossless >> priority & 1) != 0; }
  uint64_t used() const { return used_; }
  uint64_t Held(size_t port, uint32_t priority) const {
    return At(port, priority).bytes + At(port, priority).headroom;
  }
  // Returns the maximum usage since the last call.
  uint64_t TakePeak(size_t port, uint32_t priority) {
    Place& place = At(port, priority);
    return std::exchange(place.peak, place.bytes + place.headroom);
  }
  void SetAlpha(double alpha) { options_.alpha = alpha; }

 private:
  struct Place {
    uint64_t bytes = 0;     // usage of the reserve and the shared buffer
    uint64_t headroom = 0;  // usage of the headroom
    uint64_t peak = 0;      // maximum of the sum
  };

  Place& At(size_t port, uint32_t priority) { return places_[port * kPriorities + priority]; }
  const Place& At(size_t port, uint32_t priority) const {
    return places_[port * kPriorities + priority];
  }
  uint64_t SharedBy(const Place& place) const {
    return place.bytes > options_.reserve ? place.bytes - options_.reserve : 0;
  }
  uint64_t Free() const { return shared_ > shared_used_ ? shared_ - shared_used_ : 0; }
  uint64_t Threshold() const {
    return static_cast<uint64_t>(options_.alpha * static_cast<double>(Free()));
  }

  BufferOptions options_;
  double configured_alpha_;
  std::vector<uint64_t> headroom_limit_;
  std::vector<Place> places_;
  uint64_t shared_ = 0;
  uint64_t shared_used_ = 0;
  uint64_t used_ = 0;
};

}  // namespace rocescope::sim
