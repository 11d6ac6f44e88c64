// SPDX-License-Identifier: BSD-3-Clause
// Request messages from HTTP requests: query parameters, and JSON bodies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/http/request_target.h"
#include "appliance/daemon/service/service_error.h"

namespace google::protobuf {
class Message;
}

namespace rocescope {

// Refuses leading zeros, so that each number has one path.
bool ParseNumber(std::string_view text, uint64_t& number);

// Refuses query parameters that are not `known`.
ServiceStatus CheckParameters(const RequestTarget& target,
                              const std::vector<std::string_view>& known);

// Sets the fields of a request from the query parameters of the same names.
ServiceStatus FillFromQuery(const RequestTarget& target, google::protobuf::Message& request);

// Largest body of a request in bytes.
inline constexpr uint32_t kMaxJsonBody = 16 * 1024;

// Sets the fields of a request from a JSON object (RFC 8259) with proto field names, as in the
// standard JSON mapping: times and durations are strings, 64-bit numbers strings or numbers, and
// null stands for an unset field. Refuses more than kMaxJsonBody bytes, unknown fields, fields that
// occur twice, and values of another type. Supports the types of fields that requests with a body
// have: texts, times, durations, booleans, numbers and enumerations.
ServiceStatus FillFromJson(std::string_view body, google::protobuf::Message& request);

// Returns whether the value of a Content-Type header is application/json, with any parameters. A
// page of another site can send such a body only after the server has permitted it (CORS).
bool IsJson(std::string_view content_type);

}  // namespace rocescope
