// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/sendable_text.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"

namespace rocescope {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsSendable(std::string_view text) {
  if (text.size() > kLongestText) return false;
  while (!text.empty()) {
    const uint8_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

void MakeTextSendable(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  std::string copy;
  if (!field.is_repeated()) {
    const std::string& text = reflection.GetStringReference(message, &field, &copy);
    if (!IsSendable(text)) reflection.SetString(&message, &field, SendableText(text));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const std::string& text = reflection.GetRepeatedStringReference(message, &field, i, &copy);
    if (!IsSendable(text)) reflection.SetRepeatedString(&message, &field, i, SendableText(text));
  }
}

}  // namespace

std::string SendableText(std::string_view text, size_t most) {
  std::string result;
  while (!text.empty()) {
    const uint8_t length = Utf8Length(text);
    if (result.size() + std::max<size_t>(length, 1) > most) break;
    result += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

void MakeSendable(Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) MakeTextSendable(message, *field);
    if (field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      MakeSendable(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      MakeSendable(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
}

}  // namespace rocescope
