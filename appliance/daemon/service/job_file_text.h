// SPDX-License-Identifier: BSD-3-Clause
// Registered jobs as text: a line of JSON with the form's version, and one for each job.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/host/allocation.h"
#include "base/result.h"

namespace rocescope {

// The names of nodes must be topology's IsNodeName.
std::string WriteJobFile(std::span<const Allocation> jobs);

// Whether it begins as what WriteJobFile writes, whatever comes then.
bool IsJobFile(std::string_view text);

// What WriteJobFile wrote. An error says in which line: kUnimplemented if a newer rocescope wrote
// it, else kInvalidArgument. Each id is there once, none is 0.
Result<std::vector<Allocation>> ParseJobFile(std::string_view text);

}  // namespace rocescope
