// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/api/message_value.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <regex>

namespace rocescope {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::util::TimeUtil;

constexpr int64_t kSecond = 1'000'000'000;

template <typename Message>
Message MessageOf(int64_t seconds, int64_t nanos) {
  Message message;
  message.set_seconds(seconds);
  message.set_nanos(static_cast<int32_t>(nanos));
  return message;
}

template <typename Message>
int64_t NanosecondsOf(const Message& message) {
  int64_t ns = 0;
  if (__builtin_mul_overflow(message.seconds(), kSecond, &ns) ||
      __builtin_add_overflow(ns, int64_t{message.nanos()}, &ns)) {
    return message.seconds() < 0 ? std::numeric_limits<int64_t>::min()
                                 : std::numeric_limits<int64_t>::max();
  }
  return ns;
}

// Appends nothing, or a point and 3, 6 or 9 digits.
void AppendFraction(int32_t nanos, std::string& text) {
  if (nanos == 0) return;
  if (nanos % 1'000'000 == 0) {
    fmt::format_to(std::back_inserter(text), ".{:03}", nanos / 1'000'000);
  } else if (nanos % 1'000 == 0) {
    fmt::format_to(std::back_inserter(text), ".{:06}", nanos / 1'000);
  } else {
    fmt::format_to(std::back_inserter(text), ".{:09}", nanos);
  }
}

bool IsOfType(const FieldDescriptor& field, std::string_view name) {
  return field.message_type() != nullptr && field.message_type()->full_name() == name;
}

// "STATE_" for the enumeration `State`, "RANK_SOURCE_" for `RankSource`.
std::string PrefixOf(const EnumDescriptor& type) {
  std::string prefix;
  for (const char c : type.name()) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return prefix + '_';
}

}  // namespace

google::protobuf::Timestamp TimestampMessage(Timestamp time) {
  return TimestampMessage(ToNanoseconds(time));
}

// The nanoseconds of a timestamp count forward, also before 1970.
google::protobuf::Timestamp TimestampMessage(int64_t ns) {
  const int64_t nanos = ns % kSecond;
  const int64_t is_negative = nanos < 0 ? 1 : 0;
  return MessageOf<google::protobuf::Timestamp>(ns / kSecond - is_negative,
                                                nanos + is_negative * kSecond);
}

google::protobuf::Duration DurationMessage(Duration duration) {
  return DurationMessage(duration.count());
}

// Seconds and nanoseconds of a duration have the same sign.
google::protobuf::Duration DurationMessage(int64_t ns) {
  return MessageOf<google::protobuf::Duration>(ns / kSecond, ns % kSecond);
}

int64_t Nanoseconds(const google::protobuf::Timestamp& message) { return NanosecondsOf(message); }
int64_t Nanoseconds(const google::protobuf::Duration& message) { return NanosecondsOf(message); }

Timestamp TimeOf(const google::protobuf::Timestamp& message) {
  return FromNanoseconds(Nanoseconds(message));
}

// A report contains a million times, and TimeUtil::ToString takes four times as long.
std::string ToText(const google::protobuf::Timestamp& message) {
  const std::chrono::sys_seconds time{std::chrono::seconds(message.seconds())};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  AppendFraction(message.nanos(), text);
  return text + 'Z';
}
std::string ToText(const google::protobuf::Duration& message) {
  const bool is_negative = message.seconds() < 0 || message.nanos() < 0;
  std::string text = fmt::format("{}{}", is_negative ? "-" : "", std::abs(message.seconds()));
  AppendFraction(std::abs(message.nanos()), text);
  return text + 's';
}
bool ParseText(const std::string& text, google::protobuf::Timestamp& out) {
  return TimeUtil::FromString(text, &out);
}
// TimeUtil also accepts texts such as "--5s" and truncates digits.
bool ParseText(const std::string& text, google::protobuf::Duration& out) {
  static const std::regex kDuration("-?[0-9]{1,12}([.][0-9]{1,9})?s");
  return std::regex_match(text, kDuration) && TimeUtil::FromString(text, &out);
}

bool IsTimestamp(const FieldDescriptor& field) {
  return IsOfType(field, "google.protobuf.Timestamp");
}
bool IsDuration(const FieldDescriptor& field) {
  return IsOfType(field, "google.protobuf.Duration");
}

std::vector<std::string> EnumeratorNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) names.push_back(type.value(i)->name());
  return names;
}

int EnumeratorOf(const EnumDescriptor& type, std::string_view word) {
  std::string name = PrefixOf(type);
  for (const char c : word) {
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  const auto* const value = type.FindValueByName(name);
  return value == nullptr ? 0 : value->number();
}

std::string WordOf(const EnumDescriptor& type, int number) {
  const auto* const value = type.FindValueByNumber(number);
  if (number == 0 || value == nullptr) return "";
  std::string word = value->name().substr(PrefixOf(type).size());
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

}  // namespace rocescope
