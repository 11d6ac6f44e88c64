// SPDX-License-Identifier: BSD-3-Clause
// Opens the counters of a run directory.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "dataplane/telemetry/counter_file.h"

namespace rocescope {

// Refuses devices and pipes, because they may block or never end. Never blocks.
Result<std::unique_ptr<CounterFile>> OpenCountersOfRun(const std::string& path);

}  // namespace rocescope
