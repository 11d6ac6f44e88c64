// SPDX-License-Identifier: BSD-3-Clause
// Whether one port receives what another one sends, by the counters of both. Lost frames make it
// less, never more: a port that receives more than another ever sent is not connected with it.
#pragma once

#include <cstdint>

#include "analytics/cabling/port_history.h"
#include "base/time.h"

namespace rocescope {

struct FitTolerance {
  uint64_t bytes = 64 << 10;  // on the way, and between two counters' readings
  double periods = 0.1;        // so much of the busiest time between two readings: they are not
                               // taken at the instant that they are stamped with
  double share = 0.05;         // of what was received, by which two ends may count differently
};

struct CounterFit {
  uint64_t readings = 0;   // of the receiver that could be compared; below 3 nothing is said
  uint64_t excess = 0;     // octets received that were not sent, at the least
  uint64_t shortage = 0;   // octets sent that were not received, at the least
  uint64_t received = 0;   // octets, over all of these readings
  uint64_t tolerance = 0;  // octets
  uint64_t allowed = 0;    // likewise, with the share
  Timestamp since;         // of the excess: the reading that first showed it

  bool Comparable() const { return readings >= 3; }
  // They are not connected.
  bool Contradicted() const { return Comparable() && excess > allowed; }
  // Nothing is against it,
  bool Fits() const {
    return Comparable() && excess <= tolerance && shortage <= tolerance + received / 50;
  }
  // and so much was received that another one would hardly fit.
  bool Telling() const { return Fits() && received > 4 * tolerance; }
};

// Says nothing of counters that grew by more than 2^60 octets, 133 days of 800 Gbit/s.
CounterFit CompareCounters(const PortHistory& sender, const PortHistory& receiver,
                           const FitTolerance& tolerance);

}  // namespace rocescope
