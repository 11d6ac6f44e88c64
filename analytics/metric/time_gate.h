// SPDX-License-Identifier: BSD-3-Clause
// Which readings have a time that may be. One that is far from all others, ahead or behind, is of a
// clock that is wrong or a line that is broken, and would move the windows on alone: it waits until
// another node, or a packet, is where it is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

class TimeGate {
 public:
  // `leap`: how far apart readings may be without anybody's word. A poll that is slower than that
  // loses nothing: the second node of each round confirms the first.
  explicit TimeGate(Duration leap) : leap_(leap) {}

  enum class Verdict : uint8_t {
    kNear,     // to those before
    kStrange,  // nobody else is there
    kLeaps,    // far from those before, and so is another: those that were strange there are not
  };
  // Where only one node tells anything, there is nobody to ask, and it may leap.
  Verdict Judge(topology::NodeIndex node, Timestamp time);

  // Packets have come so far; true if somebody strange is there.
  bool Advance(Timestamp packets);

  // Whether a reading that was strange is near to what came after it.
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
  topology::NodeIndex first_node_ = topology::kNone;  // kNone: there was no reading
  bool many_nodes_ = false;
  std::vector<Stranger> strangers_;
};

}  // namespace rocescope
