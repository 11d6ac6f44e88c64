// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/field_path.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "appliance/api/message_value.h"
#include "base/nearest.h"

namespace rocescope {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DynamicCastToGenerated;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr size_t kBytesPerStep = 64;

const Message& SubmessageOf(const Message& message, const FieldDescriptor& field, int i) {
  const Reflection& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.GetRepeatedMessage(message, &field, i)
                             : reflection.GetMessage(message, &field);
}

FieldValue TimeValue(const Message& message) {
  if (const auto* time = DynamicCastToGenerated<google::protobuf::Timestamp>(&message)) {
    return static_cast<long double>(Nanoseconds(*time));
  }
  const auto* duration = DynamicCastToGenerated<google::protobuf::Duration>(&message);
  return static_cast<long double>(duration == nullptr ? 0 : Nanoseconds(*duration));
}

// Returns the value of a field, or of element i if the field is repeated.
FieldValue ValueOf(const Message& message, const FieldDescriptor& field, int i) {
  const Reflection& reflection = *message.GetReflection();
  const auto get = [&](auto single, auto element) {
    return field.is_repeated() ? (reflection.*element)(message, &field, i)
                               : (reflection.*single)(message, &field);
  };
  const auto number = [&](auto single, auto element) {
    return static_cast<long double>(get(single, element));
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return number(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_UINT32:
      return number(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return number(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return number(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return number(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_BOOL:
      return number(&Reflection::GetBool, &Reflection::GetRepeatedBool);
    case FieldDescriptor::CPPTYPE_ENUM:
      return number(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
    case FieldDescriptor::CPPTYPE_STRING:
      return get(&Reflection::GetString, &Reflection::GetRepeatedString);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return TimeValue(SubmessageOf(message, field, i));
  }
  return std::string();
}

// Returns false if fewer than `steps` are left.
bool Take(uint64_t steps, uint64_t& steps_left) {
  const bool is_enough = steps <= steps_left;
  steps_left = is_enough ? steps_left - steps : 0;
  return is_enough;
}

bool AnyValueFrom(const Message& message, const FieldPath& path, size_t at,
                  const std::function<bool(const FieldValue&)>& test, uint64_t& steps_left) {
  const FieldDescriptor& field = *path[at];
  const Reflection& reflection = *message.GetReflection();
  if (field.has_presence() && !reflection.HasField(message, &field)) return false;
  const int count = field.is_repeated() ? reflection.FieldSize(message, &field) : 1;
  for (int i = 0; i < count; ++i) {
    if (!Take(1, steps_left)) return false;
    if (at + 1 < path.size()) {
      if (AnyValueFrom(SubmessageOf(message, field, i), path, at + 1, test, steps_left))
        return true;
      continue;
    }
    const FieldValue value = ValueOf(message, field, i);
    const auto* const text = std::get_if<std::string>(&value);
    if (text != nullptr && !Take(text->size() / kBytesPerStep, steps_left)) return false;
    if (test(value)) return true;
  }
  return false;
}

}  // namespace

bool IsValue(const FieldDescriptor& field) {
  return field.message_type() == nullptr || IsTimestamp(field) || IsDuration(field);
}

ServiceResult<FieldPath> ResolvePath(std::string_view text, const Descriptor& type,
                                     std::string_view parameter) {
  FieldPath path;
  const Descriptor* at = &type;
  for (std::string_view rest = text; at != nullptr;) {
    const size_t dot = rest.find('.');
    const std::string name(rest.substr(0, dot));
    const FieldDescriptor* const field = at->FindFieldByName(name);
    if (field == nullptr) {
      std::vector<std::string_view> known;
      for (int i = 0; i < at->field_count(); ++i) known.push_back(at->field(i)->name());
      return RefuseFields({parameter}, fmt::format("{} has no field \"{}\"{}", at->name(), name,
                                                   DidYouMean(name, known)));
    }
    path.push_back(field);
    if (dot == std::string_view::npos) return path;
    rest.remove_prefix(dot + 1);
    at = IsValue(*field) ? nullptr : field->message_type();
  }
  return RefuseFields({parameter},
                      fmt::format("\"{}\": {} is not a message", text, path.back()->name()));
}

bool AnyValue(const Message& message, const FieldPath& path,
              const std::function<bool(const FieldValue&)>& test, uint64_t& steps_left) {
  return AnyValueFrom(message, path, 0, test, steps_left);
}

bool AnyValue(const Message& message, const FieldPath& path,
              const std::function<bool(const FieldValue&)>& test) {
  uint64_t steps_left = UINT64_MAX;
  return AnyValue(message, path, test, steps_left);
}

}  // namespace rocescope
