// SPDX-License-Identifier: BSD-3-Clause
// Compares the frames that one port sent with those that another received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/fabric.h"

namespace rocescope {

// Frames that `sender` counted and `receiver` counted neither as received nor as errors. A frame is
// in flight from the start of its transmission to its arrival. The receiver may be any port, not
// only the declared other end. Empty: the counters are not read at the same time, nothing was sent
// or received, or bytes are not counted.
Balance LinkBalance(const DiagnosisInput& input, topology::PortIndex sender,
                    topology::PortIndex receiver);

// Upper limit of the frames that were in flight in any window.
int64_t FullOf(const Balance& balance);

// A mismatch of so many frames means that other frames were counted.
int64_t FarOff(const DiagnosisInput& input, const Balance& balance);

// Upper limit of the frames in flight, for a port that sent this many frames and bytes.
int64_t MaxInFlight(const DiagnosisInput& input, topology::PortIndex sender, double frames,
                    double bytes);

// Balances of both directions of all declared links. The balance of what end e of link l sends is
// at DirectionOf(l, e).
Balances LinkBalances(const DiagnosisInput& input);

inline size_t DirectionOf(topology::LinkIndex link, size_t end) { return size_t{2} * link + end; }

// Finds mismatches that are due to how devices count: for example, NICs that do not count MAC
// control frames cause the same mismatch on all of their links. `marked` contains the link
// directions with a mismatch. Returns those for which most link directions between the same two
// tiers, or from or to the same node, whose frames are counted at both ends have a mismatch too.
std::vector<bool> SharedByMost(const DiagnosisInput& input, const std::vector<bool>& marked);

}  // namespace rocescope
