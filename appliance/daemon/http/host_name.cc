// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/host_name.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/address.h"

namespace rocescope {

namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsSameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

// Whether `text`, which follows the host, is empty or ":PORT" with a port from 1 to 65535.
bool IsPort(std::string_view text) {
  if (text.empty()) return true;
  if (text.front() != ':') return false;
  text.remove_prefix(1);
  uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, port);
  return error == std::errc() && parsed == end && port != 0;
}

}  // namespace

bool IsOwnHost(std::string_view host, std::span<const std::string> names) {
  if (host.empty()) return true;
  if (host.front() == '[') {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    return IsPort(host.substr(end + 1)) && ParseIpAddress(host.substr(1, end - 1)).has_value();
  }
  const std::string_view name = host.substr(0, host.find(':'));
  if (!IsPort(host.substr(name.size()))) return false;
  const auto is_it = [name](std::string_view other) { return IsSameName(name, other); };
  return is_it("localhost") || ParseIpAddress(name).has_value() ||
         std::ranges::any_of(names, is_it);
}

bool IsOwnOrigin(std::string_view origin, std::string_view host,
                 std::span<const std::string> names) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (!IsSameName(origin.substr(0, scheme.size()), scheme)) continue;
    const std::string_view from = origin.substr(scheme.size());
    if (from.empty()) return false;
    if (IsSameName(from, host)) return true;
    const std::string_view name = from.substr(0, from.find(':'));
    return IsPort(from.substr(name.size())) &&
           std::ranges::any_of(names,
                               [name](std::string_view other) { return IsSameName(name, other); });
  }
  return false;  // for example "null"
}

}  // namespace rocescope
