// SPDX-License-Identifier: BSD-3-Clause
// What one port sent against what another received, of one link and of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/scene.h"
#include "topology/fabric.h"

namespace rocescope {

// Frames that `sender` counted and `receiver` did not, either way or as broken. One is under way
// from the beginning of its transmission to its arrival. The receiver may be any port: what the
// cable plan says the other end is, or what it is in truth. Empty: they are not read at one moment,
// nothing was sent, or nobody says how many octets.
Balance LinkBalance(const Scene& scene, topology::PortIndex sender, topology::PortIndex receiver);

// Frames that are under way at most from a port that sent so many with so many octets in all.
int64_t MostUnderWay(const Scene& scene, topology::PortIndex sender, double frames, double bytes);

// Of all links as they are declared, either way: that of what end e of link l sends is at
// PathOf(l, e).
Balances LinkBalances(const Scene& scene);

inline size_t PathOf(topology::LinkIndex link, size_t end) { return size_t{2} * link + end; }

// Where a mismatch is not of the link but of how devices count: a kind of NIC that leaves MAC
// control frames out makes the same one of all its links. Of `ways`, those that are marked, if most
// are of all with the same tiers at either end, in the same direction, whose counters are told.
std::vector<bool> SharedByMost(const Scene& scene, const Balances& ways,
                               const std::vector<bool>& marked);

}  // namespace rocescope
