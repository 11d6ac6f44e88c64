// SPDX-License-Identifier: BSD-3-Clause
// Requests that asked for an ACK and have not received it yet. An ACK finds its request by PSN. The
// table is direct-mapped; a newer request replaces an older one in the same slot.
#pragma once

#include <cstdint>

#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class RoundTripProbes {
 public:
  struct Probe {
    uint64_t hash = 0;  // hash of the unordered address pair, the PSN and the tap
    int64_t sent_ns = 0;
    uint32_t flow = 0;  // number of the request's flow entry
    bool waiting = false;
  };

  RoundTripProbes() : probes_(kSize) {}

  void Touch() { probes_.Touch(); }

  void Remember(uint64_t hash, int64_t now_ns, uint32_t flow) {
    probes_[hash % kSize] = {.hash = hash, .sent_ns = now_ns, .flow = flow, .waiting = true};
  }

  // Address of the slot for `hash`, for prefetching.
  const void* PlaceOf(uint64_t hash) const { return &probes_[hash % kSize]; }

  // Returns the pending request under `hash`, or nullptr.
  Probe* Find(uint64_t hash) {
    Probe& probe = probes_[hash % kSize];
    return probe.waiting && probe.hash == hash ? &probe : nullptr;
  }

 private:
  static constexpr size_t kSize = 8192;
  ZeroedArray<Probe> probes_;
};

}  // namespace rocescope
