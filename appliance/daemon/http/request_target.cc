// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/request_target.h"

#include <utility>

namespace rocescope {
namespace {

int HexOf(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Decode(std::string_view text, bool plus_is_space) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexOf(text[i + 1]);
      const int low = HexOf(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (c == '\0') return std::nullopt;
    decoded += c;
  }
  return decoded;
}

}  // namespace

std::optional<RequestTarget> ParseRequestTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return std::nullopt;
  const size_t mark = target.find('?');
  RequestTarget parsed;
  auto path = Decode(target.substr(0, mark), false);
  if (!path) return std::nullopt;
  parsed.path = *std::move(path);
  if (mark == std::string_view::npos) return parsed;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    auto name = Decode(pair.substr(0, equals), true);
    auto value = Decode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) return std::nullopt;
    if (parsed.query.contains(*name)) parsed.repeated = *name;
    parsed.query[*std::move(name)] = *std::move(value);
  }
  return parsed;
}

}  // namespace rocescope
