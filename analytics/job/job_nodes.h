// SPDX-License-Identifier: BSD-3-Clause
// A job's nodes in a few words, as people and scripts write them: host lists, each with the GPUs
// that are the job's if not all are: "gpu-[1-32]", "gpu-[1-4]:0-3,7".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/host/allocation.h"
#include "base/result.h"

namespace rocescope {

// What a job may have, and a list name.
inline constexpr size_t kMaxJobNodes = 65'536;
// Numbers of GPUs are below it.
inline constexpr uint32_t kMaxGpuNumber = 1024;

// The error quotes what is wrong.
Result<std::vector<AllocatedNode>> ParseJobNodes(std::string_view text);

// Texts of which each is read as some of these nodes, in their order. Names must be topology's
// IsNodeName.
std::vector<std::string> WriteJobNodes(std::span<const AllocatedNode> nodes);

}  // namespace rocescope
