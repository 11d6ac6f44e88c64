// SPDX-License-Identifier: BSD-3-Clause
// Conversion of times, durations and enumerations to and from their protobuf forms.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/generated_enum_reflection.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace rocescope {

google::protobuf::Timestamp TimestampMessage(Timestamp time);
google::protobuf::Timestamp TimestampMessage(int64_t ns);  // nanoseconds since the epoch
google::protobuf::Duration DurationMessage(Duration duration);
google::protobuf::Duration DurationMessage(int64_t ns);

// Nanoseconds since the epoch. The result for an unset field is 0. Values beyond the range of 64
// bits are clamped.
int64_t Nanoseconds(const google::protobuf::Timestamp& message);
int64_t Nanoseconds(const google::protobuf::Duration& message);
Timestamp TimeOf(const google::protobuf::Timestamp& message);

// Text in the JSON mapping: RFC 3339 in UTC with 0, 3, 6 or 9 digits after the second; seconds with
// the suffix "s". The parsers return false if the text is invalid.
std::string ToText(const google::protobuf::Timestamp& message);
std::string ToText(const google::protobuf::Duration& message);
bool ParseText(const std::string& text, google::protobuf::Timestamp& out);
bool ParseText(const std::string& text, google::protobuf::Duration& out);

// Whether a field has the type google.protobuf.Timestamp or Duration. Compares the names of types,
// so it works for any descriptor pool.
bool IsTimestamp(const google::protobuf::FieldDescriptor& field);
bool IsDuration(const google::protobuf::FieldDescriptor& field);

// Names of all enumerators, in their order in the proto file.
std::vector<std::string> EnumeratorNames(const google::protobuf::EnumDescriptor& type);
// Number of the enumerator whose name is the prefix of the enumeration and `word` in capitals:
// "at_risk" is STATE_AT_RISK in an enumeration `State`. 0 (unspecified) if there is none.
int EnumeratorOf(const google::protobuf::EnumDescriptor& type, std::string_view word);
// The opposite: "at_risk" for STATE_AT_RISK; empty for 0 (unspecified) and for unknown numbers.
std::string WordOf(const google::protobuf::EnumDescriptor& type, int number);

template <typename E>
E EnumOf(std::string_view word) {
  return static_cast<E>(EnumeratorOf(*google::protobuf::GetEnumDescriptor<E>(), word));
}
template <typename E>
std::string WordOf(E value) {
  return WordOf(*google::protobuf::GetEnumDescriptor<E>(), static_cast<int>(value));
}

}  // namespace rocescope
