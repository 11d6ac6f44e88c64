// SPDX-License-Identifier: BSD-3-Clause
// Links that were down in all readings. The diagnosis reports only links that went down while it
// ran.
#pragma once

#include <vector>

#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

// Returns the links, in ascending order, of which a port reports that it is down and no port ever
// reported that it is up. Links that an administrator disabled are not included.
std::vector<topology::LinkIndex> LinksNeverUp(const topology::Fabric& fabric,
                                              const MetricStore& metrics);

}  // namespace rocescope
