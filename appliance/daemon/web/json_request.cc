// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/web/json_request.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "appliance/api/message_value.h"
#include "appliance/common/report/visible_text.h"
#include "base/nearest.h"

namespace rocescope {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename Number>
bool Parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size() &&
         text == fmt::format("{}", number);
}

// Sets a field of a request from text. Returns false if the text is not a valid value.
bool SetField(const FieldDescriptor& field, const std::string& text, Message& request) {
  const auto& reflection = *request.GetReflection();
  if (field.is_repeated()) {  // only strings are repeated; each may be a list
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return false;
    reflection.AddString(&request, &field, text);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    using google::protobuf::DynamicCastToGenerated;
    Message* const message = reflection.MutableMessage(&request, &field);
    if (auto* time = DynamicCastToGenerated<google::protobuf::Timestamp>(message)) {
      return ParseText(text, *time);
    }
    auto* const duration = DynamicCastToGenerated<google::protobuf::Duration>(message);
    return duration != nullptr && ParseText(text, *duration);
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
    const auto* const value = field.enum_type()->FindValueByName(text);
    if (value == nullptr) return false;
    reflection.SetEnum(&request, &field, value);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    if (text != "true" && text != "false") return false;
    reflection.SetBool(&request, &field, text == "true");
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
    uint64_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetUInt64(&request, &field, number);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    reflection.SetString(&request, &field, text);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
    int64_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetInt64(&request, &field, number);
    return true;
  }
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
    int32_t number = 0;
    if (!Parse(text, number)) return false;
    reflection.SetInt32(&request, &field, number);
    return true;
  }
  uint32_t number = 0;
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_UINT32 || !Parse(text, number)) return false;
  reflection.SetUInt32(&request, &field, number);
  return true;
}

// The highest number of a parameter. Signed ones are sizes, which must not be negative.
uint64_t MaxOf(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::numeric_limits<int32_t>::max();
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::numeric_limits<uint32_t>::max();
    case FieldDescriptor::CPPTYPE_INT64:
      return std::numeric_limits<int64_t>::max();
    default:
      return std::numeric_limits<uint64_t>::max();
  }
}

// Describes the valid values of a parameter.
std::string ValuesOf(const FieldDescriptor& field) {
  if (field.enum_type() != nullptr) {
    return fmt::format("one of {}", fmt::join(EnumeratorNames(*field.enum_type()), ", "));
  }
  if (IsTimestamp(field)) return "a time such as 2026-01-31T12:00:00Z";
  if (IsDuration(field)) return "a duration such as 60s";
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return "true or false";
  return fmt::format("a whole number from 0 to {} without leading zeros", MaxOf(field));
}

std::vector<std::string_view> FieldsOf(const google::protobuf::Descriptor& type) {
  std::vector<std::string_view> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return names;
}

// `what`: "parameter" or "field".
ServiceError Unknown(std::string_view what, const std::string& name,
                     const std::vector<std::string_view>& known) {
  const std::string message =
      fmt::format("unknown {} \"{}\"{}", what, name, DidYouMean(name, known));
  return {.fault = ServiceFault::kBadRequest,
          .message = message,
          .violations = {{.field = name, .description = message}}};
}

ServiceError MalformedBody(const std::string& why) {
  return {.fault = ServiceFault::kBadRequest,
          .message = fmt::format("malformed request body: {}", why)};
}

// Returns the text that SetField parses; nullopt: JSON has no such value for the field.
std::optional<std::string> TextOf(const FieldDescriptor& field, const nlohmann::json& value) {
  const bool is_bool = field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL;
  if (value.is_boolean() && is_bool) return value.get<bool>() ? "true" : "false";
  const bool is_number = field.cpp_type() == FieldDescriptor::CPPTYPE_INT32 ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_INT64 ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  if (value.is_number_integer() && is_number) return value.dump();
  if (value.is_string() && !is_bool) return value.get<std::string>();
  return std::nullopt;
}

}  // namespace

bool ParseNumber(std::string_view text, uint64_t& number) { return Parse(text, number); }

ServiceStatus CheckParameters(const RequestTarget& target,
                              const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : target.query) {
    if (std::ranges::find(known, name) == known.end()) {
      return tl::unexpected(Unknown("parameter", name, known));
    }
  }
  return {};
}

// Sets the fields of a request from the query parameters of the same names.
ServiceStatus FillFromQuery(const RequestTarget& target, Message& request) {
  const auto& type = *request.GetDescriptor();
  for (const auto& [name, value] : target.query) {
    const FieldDescriptor* const field = type.FindFieldByName(name);
    if (field == nullptr) {
      return tl::unexpected(Unknown("parameter", name, FieldsOf(type)));
    }
    if (!SetField(*field, value, request)) {
      return RefuseFields({name},
                          fmt::format("expected {}, found \"{}\"", ValuesOf(*field), value));
    }
  }
  return {};
}

ServiceStatus FillFromJson(std::string_view body, Message& request) {
  if (body.size() > kMaxJsonBody) {
    return tl::unexpected(MalformedBody(fmt::format("it exceeds {} bytes", kMaxJsonBody)));
  }
  // The parser keeps only the last value of a name. Nesting is refused while it is parsed, because
  // no field of a request with a body is a list or an object.
  std::set<std::string> names;
  std::string repeated;
  bool is_nested = false;
  using Event = nlohmann::json::parse_event_t;
  const auto look = [&](int depth, Event event, nlohmann::json& value) {
    if (event == Event::key && !names.insert(value.get<std::string>()).second) {
      repeated = value.get<std::string>();
    }
    const bool begins = event == Event::object_start || event == Event::array_start;
    is_nested = is_nested || (begins && depth > 0);
    return !(begins && depth > 0);
  };
  const nlohmann::json value = nlohmann::json::parse(body, look, /*allow_exceptions=*/false);
  if (value.is_discarded() || !value.is_object()) {
    return tl::unexpected(MalformedBody("expected a JSON object in UTF-8"));
  }
  if (is_nested) {
    return tl::unexpected(
        MalformedBody("a field is a list or an object; expected a text, a "
                      "number, true, false or null"));
  }
  if (!repeated.empty()) {
    return RefuseFields({repeated}, "expected one value, found several");
  }
  const auto& type = *request.GetDescriptor();
  for (const auto& [name, one] : value.items()) {
    const FieldDescriptor* const field = type.FindFieldByName(name);
    if (field == nullptr) return tl::unexpected(Unknown("field", name, FieldsOf(type)));
    if (one.is_null()) continue;
    const auto text = TextOf(*field, one);
    if (!text || field->is_repeated() || !SetField(*field, *text, request)) {
      return RefuseFields({name}, fmt::format("expected {}, found {}",
                                              field->cpp_type() == FieldDescriptor::CPPTYPE_STRING
                                                  ? "a text"
                                                  : ValuesOf(*field),
                                              WithShortQuotes(one.dump())));
    }
  }
  return {};
}

bool IsJson(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && (type.back() == ' ' || type.back() == '\t')) type.remove_suffix(1);
  return boost::beast::iequals(type, "application/json");
}

}  // namespace rocescope
