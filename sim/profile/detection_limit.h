// SPDX-License-Identifier: BSD-3-Clause
// How many frames a silent loss must affect so that the readings of a profile prove it.
//
// The bound is that of interval analysis. Let the sender's readings show the counts at the times s0
// and s1, and the receiver's readings those at r0 and r1, where r0 is certainly older than s0 and
// r1 certainly newer than s1. All frames that were sent between s0 and s1 and not lost are among
// those received between r0 and r1, so at least
//
//   (sent(s1) - sent(s0)) - (received(r1) - received(r0))
//
// frames were lost. The frames sent between r0 and s0, and between s1 and r1, weaken the bound: as
// many losses stay hidden. "Certainly" takes the staleness of both devices and the greatest clock
// error into account. The limit is the least number of lost frames for which any such span of the
// run proves a loss.
//
// Received frames include those that the receiver, or the switch, counted as damaged or dropped.
// Frames in the queues of a switch at r0 and r1 weaken the bound: their number is not known, only
// their bytes. So do discards that a device counts although it discards no frames
// (VendorClass::quirk). A span ends where a counter restarts, or where one with 32 bits may have
// wrapped unnoticed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/record/metric.h"
#include "sim/profile/transform.h"
#include "sim/recording/exact_counters.h"

namespace rocescope::sim {

// Frames that are counted on one side and should be counted on the other: the two ends of a link,
// or what enters and leaves a switch.
struct LossWatch {
  std::vector<uint32_t> sent;  // entities (indices in ExactCounters::entities)
  std::vector<uint32_t> received;
  Metric sent_metric = Metric::kTxPackets;
  // Without the first one, nothing is provable. Entities may lack the others.
  std::vector<Metric> received_metrics = {Metric::kRxPackets, Metric::kFcsErrors};
  uint64_t in_flight = 0;        // greatest number of frames that are on the wire at any time
  std::vector<uint32_t> queues;  // entities that have the queues between the two (kQueueBytes)
  double frame_bytes = 1;        // mean length of a queued frame
  uint64_t most_queued = 0;      // greatest number of frames in the queues
  Timestamp begin;               // of the fault
  Timestamp end;
  uint64_t lost = 0;  // frames that the fault affected, also elsewhere
};

inline constexpr double kNotProvable = 1e18;

// `sent` and `received` have the readings that arrived, for each entity of `watch` in its order.
// `exact` must allow reading from its beginning.
double DetectionLimit(const LossWatch& watch, const TransformReport& report,
                      std::span<const std::vector<ReadingTime>> sent,
                      std::span<const std::vector<ReadingTime>> received, ExactCounters& exact);

}  // namespace rocescope::sim
