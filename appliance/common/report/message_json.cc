// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/message_json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <iterator>

#include "appliance/api/message_value.h"
#include "appliance/common/report/json_line.h"

namespace rocescope {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void AppendDouble(double value, std::string& out) {
  if (std::isnan(value)) {
    out += "\"NaN\"";
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  } else if (value == std::trunc(value) && std::abs(value) < 1e15) {
    out += fmt::format_int(static_cast<int64_t>(value)).c_str();
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

template <typename Integer>
void AppendInteger(Integer value, std::string& out) {
  const fmt::format_int text(value);
  out.append(text.data(), text.size());
}

template <typename Integer>
void AppendQuoted(Integer value, std::string& out) {
  out += '"';
  AppendInteger(value, out);
  out += '"';
}

class Writer {
 public:
  using Take = std::function<bool(std::string_view)>;

  // Without `take`, everything is appended to `out`.
  Writer(bool indented, std::string& out, const Take* take = nullptr)
      : indented_(indented), out_(out), take_(take) {}

  void Append(const Message& message) {
    const Reflection& reflection = *message.GetReflection();
    const auto& descriptor = *message.GetDescriptor();
    out_ += '{';
    ++depth_;
    bool first = true;
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor& field = *descriptor.field(i);
      if (field.has_presence() && !reflection.HasField(message, &field)) continue;
      if (!first) out_ += ',';
      first = false;
      NewLine();
      out_ += '"';
      out_ += field.name();
      out_ += indented_ ? "\": " : "\":";
      if (field.is_repeated()) {
        AppendRepeated(message, reflection, field);
      } else {
        AppendSingle(message, reflection, field);
      }
    }
    --depth_;
    if (!first) NewLine();
    out_ += '}';
  }

 private:
  void NewLine() {
    if (!indented_) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(depth_), ' ');
  }

  // Its characters need no escape.
  void AppendTime(const std::string& text) {
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  void AppendMessage(const Message& message) {
    using google::protobuf::Duration;
    using google::protobuf::DynamicCastToGenerated;
    using google::protobuf::Timestamp;
    const auto* const type = message.GetDescriptor();  // spares most messages the casts
    if (type == Timestamp::descriptor()) {
      if (const auto* time = DynamicCastToGenerated<Timestamp>(&message)) {
        return AppendTime(ToText(*time));
      }
    } else if (type == Duration::descriptor()) {
      if (const auto* duration = DynamicCastToGenerated<Duration>(&message)) {
        return AppendTime(ToText(*duration));
      }
    }
    Append(message);
  }

  void AppendSingle(const Message& message, const Reflection& reflection,
                    const FieldDescriptor& field) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return AppendInteger(reflection.GetInt32(message, &field), out_);
      case FieldDescriptor::CPPTYPE_UINT32:
        return AppendInteger(reflection.GetUInt32(message, &field), out_);
      case FieldDescriptor::CPPTYPE_INT64:
        return AppendQuoted(reflection.GetInt64(message, &field), out_);
      case FieldDescriptor::CPPTYPE_UINT64:
        return AppendQuoted(reflection.GetUInt64(message, &field), out_);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return AppendDouble(reflection.GetDouble(message, &field), out_);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return AppendDouble(reflection.GetFloat(message, &field), out_);
      case FieldDescriptor::CPPTYPE_BOOL:
        out_ += reflection.GetBool(message, &field) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return AppendEnumerator(field, reflection.GetEnumValue(message, &field));
      case FieldDescriptor::CPPTYPE_STRING:
        return AppendJsonString(out_, reflection.GetStringReference(message, &field, &scratch_));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return AppendMessage(reflection.GetMessage(message, &field));
    }
  }

  void AppendRepeated(const Message& message, const Reflection& reflection,
                      const FieldDescriptor& field) {
    const int count = reflection.FieldSize(message, &field);
    out_ += '[';
    ++depth_;
    for (int i = 0; i < count; ++i) {
      if (i > 0) out_ += ',';
      NewLine();
      AppendElement(message, reflection, field, i);
      if (!HandOverIfLarge()) break;
    }
    --depth_;
    if (count > 0) NewLine();
    out_ += ']';
  }

  void AppendElement(const Message& message, const Reflection& reflection,
                     const FieldDescriptor& field, int i) {
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return AppendInteger(reflection.GetRepeatedInt32(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_UINT32:
        return AppendInteger(reflection.GetRepeatedUInt32(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_INT64:
        return AppendQuoted(reflection.GetRepeatedInt64(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_UINT64:
        return AppendQuoted(reflection.GetRepeatedUInt64(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_DOUBLE:
        return AppendDouble(reflection.GetRepeatedDouble(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_FLOAT:
        return AppendDouble(reflection.GetRepeatedFloat(message, &field, i), out_);
      case FieldDescriptor::CPPTYPE_BOOL:
        out_ += reflection.GetRepeatedBool(message, &field, i) ? "true" : "false";
        return;
      case FieldDescriptor::CPPTYPE_ENUM:
        return AppendEnumerator(field, reflection.GetRepeatedEnumValue(message, &field, i));
      case FieldDescriptor::CPPTYPE_STRING:
        return AppendJsonString(
            out_, reflection.GetRepeatedStringReference(message, &field, i, &scratch_));
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return AppendMessage(reflection.GetRepeatedMessage(message, &field, i));
    }
  }

  // Returns false if nothing more is wanted.
  bool HandOverIfLarge() {
    constexpr size_t kLarge = size_t{1} << 20;
    if (take_ == nullptr || out_.size() < kLarge) return is_wanted_;
    is_wanted_ = is_wanted_ && (*take_)(out_);
    out_.clear();
    return is_wanted_;
  }

  // An unknown enumerator is printed as its number, as the JSON mapping requires.
  void AppendEnumerator(const FieldDescriptor& field, int number) {
    const auto* value = field.enum_type()->FindValueByNumber(number);
    if (value == nullptr) return AppendInteger(number, out_);
    AppendJsonString(out_, value->name());
  }

  const bool indented_;
  std::string& out_;
  const Take* const take_;
  bool is_wanted_ = true;
  std::string scratch_;
  int depth_ = 0;
};

}  // namespace

void AppendJson(const Message& message, bool indented, std::string& out) {
  Writer(indented, out).Append(message);
}

bool WriteJson(const Message& message, bool indented,
               const std::function<bool(std::string_view)>& take) {
  std::string text;
  bool is_wanted = true;
  const Writer::Take take_while_wanted = [&](std::string_view piece) {
    is_wanted = is_wanted && take(piece);
    return is_wanted;
  };
  Writer(indented, text, &take_while_wanted).Append(message);
  return is_wanted && take(text);
}

}  // namespace rocescope
