// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/page.h"

#include <fmt/format.h>

#include <charconv>

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
  return fmt::format("{}.{}", token.version, token.offset);
}

std::optional<PageToken> ParsePageToken(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const auto version = PageNumber(text.substr(0, dot));
  const auto offset = PageNumber(text.substr(dot + 1));
  if (!version || !offset || *offset == 0) return std::nullopt;
  return PageToken{.version = *version, .offset = *offset};
}

}  // namespace rocescope
