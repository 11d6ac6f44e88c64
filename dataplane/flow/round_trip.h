// SPDX-License-Identifier: BSD-3-Clause
// Requests that asked for an ACK and wait for it, found again by the ACK's PSN: a direct-mapped
// table in which a newer request takes an older one's place.
#pragma once

#include <cstdint>

#include "dataplane/flow/zeroed_array.h"

namespace rocescope {

class RoundTripProbes {
 public:
  struct Probe {
    uint64_t hash = 0;  // of the unordered address pair and the PSN, and the tap
    int64_t sent_ns = 0;
    uint32_t flow = 0;  // number of the request's flow entry
    bool waiting = false;
  };

  RoundTripProbes() : probes_(kSize) {}

  void Touch() { probes_.Touch(); }

  void Remember(uint64_t hash, int64_t now_ns, uint32_t flow) {
    probes_[hash % kSize] = {.hash = hash, .sent_ns = now_ns, .flow = flow, .waiting = true};
  }

  // Where it is remembered, to be loaded in advance.
  const void* PlaceOf(uint64_t hash) const { return &probes_[hash % kSize]; }

  // The waiting request under `hash`, or nullptr.
  Probe* Find(uint64_t hash) {
    Probe& probe = probes_[hash % kSize];
    return probe.waiting && probe.hash == hash ? &probe : nullptr;
  }

 private:
  static constexpr size_t kSize = 8192;
  ZeroedArray<Probe> probes_;
};

}  // namespace rocescope
