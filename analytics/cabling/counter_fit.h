// SPDX-License-Identifier: BSD-3-Clause
// Compares the counters of two ports to determine whether one receives what the other sends. Frame
// loss only decreases the receiver's count, so a port that receives more than another has sent is
// not connected to it.
#pragma once

#include <cstdint>

#include "analytics/cabling/port_history.h"
#include "base/time.h"

namespace rocescope {

struct FitTolerance {
  // Bytes in flight and bytes counted between the readings of two counters.
  uint64_t bytes = 64 << 10;
  // Allowance in units of the busiest period between two readings: a device may return values that
  // it cached up to one period ago.
  double periods = 1;
  // Share of the received bytes by which the counting rules of two ends can differ.
  double share = 0.05;
};

struct CounterFit {
  static constexpr uint64_t kLeastReadings = 3;  // fewer allow no conclusion

  uint64_t readings = 0;   // comparable readings of the receiver; see Comparable()
  uint64_t excess = 0;     // minimum number of bytes that were received but not sent
  uint64_t shortage = 0;   // minimum number of bytes that were sent but not received
  uint64_t received = 0;   // bytes, over all these readings
  uint64_t tolerance = 0;  // bytes
  uint64_t allowed = 0;    // bytes, including the tolerated share
  Timestamp since;         // reading that first showed the excess

  bool Comparable() const { return readings >= kLeastReadings; }
  // The ports are not connected.
  bool Contradicted() const { return Comparable() && excess > allowed; }
  // The counters agree with a link between the ports.
  bool Fits() const {
    return Comparable() && excess <= tolerance && shortage <= tolerance + received / 50;
  }
  // The counters agree, and the traffic is large enough to rule out another sender.
  bool Telling() const { return Fits() && received > 4 * tolerance; }
};

// Returns no conclusion for counters that grew by more than 2^60 bytes (133 days at 800 Gbit/s).
CounterFit CompareCounters(const PortHistory& sender, const PortHistory& receiver,
                           const FitTolerance& tolerance);

}  // namespace rocescope
