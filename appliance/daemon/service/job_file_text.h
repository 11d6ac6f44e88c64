// SPDX-License-Identifier: BSD-3-Clause
// Text format of the job file: one line of JSON with the format version, then one line for each
// job.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/host/allocation.h"

namespace rocescope {

// Node names must fulfil topology::IsNodeName.
std::string WriteJobFile(std::span<const Allocation> jobs);

// Returns whether the text has the header that WriteJobFile writes. The rest is not checked.
bool IsJobFile(std::string_view text);

// Parses the output of WriteJobFile. Ids in the result are unique and not 0. An error contains the
// line number; it is kUnimplemented if a newer version wrote the file, otherwise kInvalidArgument.
Result<std::vector<Allocation>> ParseJobFile(std::string_view text);

}  // namespace rocescope
