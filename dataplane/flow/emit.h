// SPDX-License-Identifier: BSD-3-Clause
// From the table's packed counters and the decoder's fields to the records that leave.
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

// PSNs behind a READ request of `length` octets that its response uses up, as far as the next
// request's distance `ahead` tells: the path MTU is one of five (IBTA vol. 1, 9.7.3).
uint32_t ReservedByRead(uint32_t length, int32_t ahead);

// The record of what `entry` counted in the interval.
FlowRecord MakeFlowRecord(const FlowEntry& entry, uint32_t number, Timestamp interval_start,
                          Duration width);

// Sets the interval's counters to zero; the sequences and the last message's end stay.
void ClearInterval(FlowEntry& entry);

// `grant` is nullptr unless the packet is a clear-to-send.
ObservationRecord MakeObservation(const FlowEntry& entry, uint32_t number, const RocePacket& packet,
                            const ClearToSend* grant, uint8_t exponent, Timestamp event,
                            Timestamp arrival);

}  // namespace rocescope
