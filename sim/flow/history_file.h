// SPDX-License-Identifier: BSD-3-Clause
// The exact history of a run on disk: recording/history.columns.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "sim/flow/flow_history.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct StoredHistory {
  FlowHistory history;
  Timestamp epoch;  // start of the run
};

Status WriteHistory(const FlowHistory& history, Timestamp epoch, const std::string& path);

// `fabric` is the fabric of the run. The error names the file and the damaged block.
Result<std::shared_ptr<const StoredHistory>> ReadHistory(const std::string& path,
                                                         const topology::Fabric& fabric);
// As ReadHistory, from the bytes of the file. `name` is the name of the file in errors.
Result<std::shared_ptr<const StoredHistory>> ParseHistory(std::string_view bytes,
                                                          const std::string& name,
                                                          const topology::Fabric& fabric);

}  // namespace rocescope::sim
