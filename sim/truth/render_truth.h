// SPDX-License-Identifier: BSD-3-Clause
// JSON text of the ground truth, as in truth.json.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <string>

namespace rocescope::sim {

// Truth.schema_version of the truth that this version writes.
inline constexpr uint32_t kTruthSchemaVersion = 2;

// Returns indented JSON with all fields, also those with default values.
std::string RenderJson(const google::protobuf::Message& message);

}  // namespace rocescope::sim
