// SPDX-License-Identifier: BSD-3-Clause
// Parses and writes a job's nodes as host lists with optional GPUs: "gpu-[1-32]",
// "gpu-[1-4]:0-3,7". Without GPUs, the job has the whole node.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

// Maximum number of nodes of a job and of one list.
inline constexpr size_t kMaxJobNodes = 65'536;
// GPU numbers are below this limit.
inline constexpr uint32_t kMaxGpuNumber = 1024;

// The error message quotes the invalid part.
Result<std::vector<AllocatedNode>> ParseJobNodes(std::string_view text);

// Returns texts that ParseJobNodes converts back to these nodes in this order. Names must satisfy
// topology's IsNodeName.
std::vector<std::string> WriteJobNodes(std::span<const AllocatedNode> nodes);

}  // namespace rocescope
