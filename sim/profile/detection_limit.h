// SPDX-License-Identifier: BSD-3-Clause
// The detection limit: the minimum number of frames that a silent loss must affect so that the
// readings of a profile can prove it.
//
// The bound is that of interval analysis. Let the sender's readings show the counts at the times s0
// and s1, and the receiver's readings those at r0 and r1, where r0 is certainly older than s0 and
// r1 certainly newer than s1. All frames that were sent between s0 and s1 and not lost are among
// those received between r0 and r1, so at least
//
//   (sent(s1) - sent(s0)) - (received(r1) - received(r0))
//
// frames were lost. The frames sent between r0 and s0, and between s1 and r1, weaken the bound:
// they can hide as many losses. A reading is "certainly" older or newer only if the staleness of
// both devices and the greatest clock error cannot reverse the order. The four readings form a
// span. The limit is the minimum over all spans of the run of the number of lost frames that the
// span can prove.
//
// Received frames include those that the receiver, or the switch, counted as damaged or dropped.
// Two more effects weaken the bound: frames in the queues of a switch at r0 and r1, because only
// their bytes are known and not their number, and discards that a device counts although it
// discards no frames (VendorClass::quirk). No span contains a restart of a counter, or a possible
// wrap of a 32-bit counter that the collector cannot notice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/record/metric.h"
#include "sim/profile/transform.h"
#include "sim/recording/exact_counters.h"

namespace rocescope::sim {

// Two sets of counters whose sums are equal if no frame is lost: of the two ends of a link, or of
// the frames that enter and leave a switch.
struct LossWatch {
  std::vector<uint32_t> sent;  // entities (indices in ExactCounters::entities)
  std::vector<uint32_t> received;
  Metric sent_metric = Metric::kTxPackets;
  // If a device lacks the first one, no loss is provable. Devices may lack the others.
  std::vector<Metric> received_metrics = {Metric::kRxPackets, Metric::kFcsErrors};
  uint64_t in_flight = 0;        // greatest number of frames that are on the wire at any time
  std::vector<uint32_t> queues;  // entities with kQueueBytes of the queues between the two sides
  double frame_bytes = 1;        // mean length of a queued frame
  uint64_t most_queued = 0;      // greatest number of frames in the queues
  Timestamp begin;               // start of the fault
  Timestamp end;                 // end of the fault
  uint64_t lost = 0;  // frames that the fault lost here and in the other direction of the link
};

inline constexpr double kNotProvable = 1e18;

// `sent` and `received` have the readings that arrived, for each entity of watch.sent and
// watch.received in this order. `exact` must be readable from its beginning. Returns kNotProvable
// if the readings cannot prove the loss.
double DetectionLimit(const LossWatch& watch, const TransformReport& report,
                      std::span<const std::vector<ReadingTime>> sent,
                      std::span<const std::vector<ReadingTime>> received, ExactCounters& exact);

}  // namespace rocescope::sim
