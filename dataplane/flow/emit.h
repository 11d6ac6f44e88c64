// SPDX-License-Identifier: BSD-3-Clause
// Conversion of the flow table's packed counters and the decoder's fields to records.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/decode/frame.h"
#include "dataplane/flow/clear_to_send.h"
#include "dataplane/flow/flow_entry.h"
#include "dataplane/record/record.h"

namespace rocescope {

inline size_t MessageSizeBin(uint32_t size) {
  size_t bin = 0;
  while (bin < kMessageSizeBounds.size() && size > kMessageSizeBounds[bin]) ++bin;
  return bin;
}

NakKind NakKindOf(uint8_t code);

// Number of PSNs that the response to a READ request of `length` bytes consumes, inferred from
// `ahead`, the PSN distance to the next request: the path MTU has five possible values (IBTA vol.
// 1, 9.7.3).
uint32_t ReservedByRead(uint32_t length, int32_t ahead);

// Returns the record of the interval's counters in `entry`.
FlowRecord MakeFlowRecord(const FlowEntry& entry, uint32_t number, Timestamp interval_start,
                          Duration width);

// Clears the counters of the interval. PSN state and the end time of the last message are kept.
void ClearInterval(FlowEntry& entry);

// `grant` is nullptr unless the packet is a clear-to-send.
ObservationRecord MakeObservation(const FlowEntry& entry, uint32_t number, const RocePacket& packet,
                                  const ClearToSend* grant, uint8_t exponent, Timestamp event,
                                  Timestamp arrival);

}  // namespace rocescope
