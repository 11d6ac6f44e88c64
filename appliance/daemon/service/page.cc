// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/page.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>

#include "appliance/api/message_value.h"

namespace rocescope {
namespace {

std::optional<uint64_t> PageNumber(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

std::string ToText(const PageToken& token) {
  return fmt::format("{}.{}.{}", token.version, token.offset, token.request);
}

std::optional<PageToken> ParsePageToken(std::string_view text) {
  std::array<uint64_t, 3> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) {
    const bool is_last = i + 1 == numbers.size();
    const size_t dot = is_last ? text.size() : text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const auto number = PageNumber(text.substr(0, dot));
    if (!number) return std::nullopt;
    numbers[i] = *number;
    text.remove_prefix(is_last ? dot : dot + 1);
  }
  if (numbers[1] == 0) return std::nullopt;
  return PageToken{.version = numbers[0], .offset = numbers[1], .request = numbers[2]};
}

ServiceStatus CheckSize(std::string_view field, int32_t asked) {
  if (asked >= 0) return {};
  return RefuseFields({field}, fmt::format("expected a number from 0 to {}, found {}",
                                           std::numeric_limits<int32_t>::max(), asked));
}

ServiceStatus CheckTime(std::string_view field, const google::protobuf::Timestamp& time) {
  if (time.nanos() < 0 || time.nanos() > 999'999'999) {
    return RefuseFields({field}, "expected nanos from 0 to 999999999");
  }
  if (WithinBounds(TimeOf(time)) == TimeOf(time)) return {};
  return RefuseFields({field}, fmt::format("expected a time from 1970 to {}",
                                           ToText(TimestampMessage(kLatestTime))));
}

}  // namespace rocescope
