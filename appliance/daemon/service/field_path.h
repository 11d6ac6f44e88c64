// SPDX-License-Identifier: BSD-3-Clause
// Fields of protobuf messages by dotted names, and their values by reflection.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "appliance/daemon/service/service_error.h"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace rocescope {

// Fields from a message to a value: `finding.place` has two.
using FieldPath = std::vector<const google::protobuf::FieldDescriptor*>;

// Numbers, booleans (0 and 1), enumerators, and nanoseconds of timestamps and durations are
// numbers. long double holds every 64-bit integer.
using FieldValue = std::variant<long double, std::string>;

// Whether values of the field can be compared: of all fields except messages that are neither
// timestamps nor durations.
bool IsValue(const google::protobuf::FieldDescriptor& field);

// Resolves a dotted name such as "finding.place". `parameter` is the parameter in errors.
ServiceResult<FieldPath> ResolvePath(std::string_view text,
                                     const google::protobuf::Descriptor& type,
                                     std::string_view parameter);

// Returns whether `test` holds for any value at the end of the path. Values of unset fields do not
// exist. Subtracts 1 from `steps_left` for each element of a field on the path, and 1 more for each
// 64 bytes of a text. If that would be more than is left, it sets `steps_left` to 0 and returns
// false: then the result is unknown. The time is proportional to the steps as long as `test` takes
// a time proportional to the size of a value.
bool AnyValue(const google::protobuf::Message& message, const FieldPath& path,
              const std::function<bool(const FieldValue&)>& test, uint64_t& steps_left);
// The same without a limit, for paths without repeated fields.
bool AnyValue(const google::protobuf::Message& message, const FieldPath& path,
              const std::function<bool(const FieldValue&)>& test);

}  // namespace rocescope
