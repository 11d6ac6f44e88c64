// SPDX-License-Identifier: BSD-3-Clause
// Rejects readings with implausible times. A reading far ahead of or behind all others comes from a
// wrong clock or a corrupt line, and would advance the windows alone. It is held until another node
// or a packet confirms its time.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

class TimeGate {
 public:
  // `leap` is the maximum distance of readings without confirmation. A slower polling interval
  // loses nothing: the second node of each round confirms the first.
  explicit TimeGate(Duration leap) : leap_(leap) {}

  enum class Verdict : uint8_t {
    kNear,     // close to the previous readings
    kStrange,  // no other node confirms the time
    // The time is far from the previous readings, but another node or a packet confirms it, or only
    // one node reports. Readings that were held back and have a similar time are valid too.
    kLeaps,
  };
  // If only one node reports anything, its leaps are accepted.
  Verdict Judge(topology::NodeIndex node, Timestamp time);

  // Reports the latest event time of packets; returns true if that confirms a reading held back.
  bool Advance(Timestamp packets);

  // Whether a reading that was held is close to later readings.
  bool IsNear(Timestamp time) const { return AreNear(time, newest_); }

 private:
  static constexpr size_t kMaxStrangers = 16;

  struct Stranger {
    topology::NodeIndex node = topology::kNone;
    Timestamp first;
    Timestamp last;
  };

  bool AreNear(Timestamp a, Timestamp b) const { return (a < b ? b - a : a - b) <= leap_; }

  const Duration leap_;
  Timestamp newest_;
  Timestamp packets_;
  topology::NodeIndex first_node_ = topology::kNone;  // kNone: no reading yet
  bool many_nodes_ = false;
  std::vector<Stranger> strangers_;
};

}  // namespace rocescope
