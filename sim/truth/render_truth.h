// SPDX-License-Identifier: BSD-3-Clause
// JSON text of the ground truth, as in truth.json.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace rocescope::sim {

// Returns indented JSON with all fields, also those with default values.
std::string RenderJson(const google::protobuf::Message& message);

}  // namespace rocescope::sim
