// SPDX-License-Identifier: BSD-3-Clause
// What one port sent against what another received.
#pragma once

#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/scene.h"
#include "topology/fabric.h"

namespace rocescope {

// Frames that `sender` counted and `receiver` did not, either way or as broken. One is under way
// from the beginning of its transmission to its arrival. The receiver may be any port: what the
// cable plan says the other end is, or what it is in truth. Empty: they are not read at one moment,
// or nothing was sent.
Balance LinkBalance(const Scene& scene, topology::PortIndex sender, topology::PortIndex receiver);

}  // namespace rocescope
