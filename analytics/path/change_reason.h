// SPDX-License-Identifier: BSD-3-Clause
// Why flows left their ways: looks at all changes together, beside what links' states were.
#pragma once

#include <memory>
#include <span>

#include "analytics/cabling/link_change.h"
#include "analytics/path/path.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

struct ChangeReasonOptions {
  // Between a reading of a link's state and packets' times, which are of other clocks.
  Duration slack = std::chrono::microseconds(200);
  // Flows that left a link at a time after which nobody was seen on it: from so many on it is the
  // link that is silent, and not they that moved.
  uint32_t leavers = 3;
};

// The same paths with the reason of each stretch but a flow's first; those of flows that never
// changed are shared. Changes by link; `paths` are all there are.
std::shared_ptr<const FlowPaths> ExplainChanges(const topology::Fabric& fabric,
                                                std::span<const LinkChange> changes,
                                                std::shared_ptr<const FlowPaths> paths,
                                                const ChangeReasonOptions& options = {});

}  // namespace rocescope
