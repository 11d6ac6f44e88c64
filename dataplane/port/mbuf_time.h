// SPDX-License-Identifier: BSD-3-Clause
// Arrival time of a frame: the timestamp in its mbuf, or the system clock.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <cstdint>

#include "base/time.h"
#include "dataplane/port/nic_clock.h"
#include "dataplane/port/port.h"

namespace rocescope {

// Location of the driver's timestamp in mbufs, as registered by the driver.
struct TimestampField {
  int offset = -1;
  uint64_t flag = 0;  // in ol_flags; 0: no driver writes timestamps

  static TimestampField Find() {
    const int bit = rte_mbuf_dynflag_lookup(RTE_MBUF_DYNFLAG_RX_TIMESTAMP_NAME, nullptr);
    const int offset = rte_mbuf_dynfield_lookup(RTE_MBUF_DYNFIELD_TIMESTAMP_NAME, nullptr);
    if (bit < 0 || offset < 0) return {};
    return {.offset = offset, .flag = uint64_t{1} << bit};
  }
};

inline Timestamp TimeOf(const rte_mbuf& mbuf, const TimestampField& field, PortTime kind,
                        const NicClock& clock, Timestamp arrival) {
  if (kind == PortTime::kArrival || (mbuf.ol_flags & field.flag) == 0) return arrival;
  const rte_mbuf_timestamp_t told =
      *RTE_MBUF_DYNFIELD(&mbuf, field.offset, const rte_mbuf_timestamp_t*);
  if (kind == PortTime::kNicClock) return clock.TimeOf(told, arrival);
  constexpr rte_mbuf_timestamp_t kLatest = ToNanoseconds(kLatestTime) / 1000;
  return FromNanoseconds(static_cast<int64_t>(told < kLatest ? told : kLatest) * 1000);
}

}  // namespace rocescope
