// SPDX-License-Identifier: BSD-3-Clause
// Determines why flows changed their paths, from all path changes together with link state changes.
#pragma once

#include <memory>
#include <span>

#include "analytics/cabling/link_change.h"
#include "analytics/path/path.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

struct ChangeReasonOptions {
  // Allowance between the times of link state readings and of packets, which come from different
  // clocks.
  Duration slack = std::chrono::microseconds(200);
  // A link counts as silent if at least this many flows left it at one time and no flow is observed
  // on it afterwards. Fewer flows may simply have moved.
  uint32_t leavers = 3;
};

// Returns the paths with a reason for each path interval except the first one of each flow. Flows
// with a single interval are shared with `paths`. `changes` are sorted by link; `paths` must
// contain all flows.
std::shared_ptr<const FlowPaths> ExplainChanges(const topology::Fabric& fabric,
                                                std::span<const LinkChange> changes,
                                                std::shared_ptr<const FlowPaths> paths,
                                                const ChangeReasonOptions& options = {});

}  // namespace rocescope
