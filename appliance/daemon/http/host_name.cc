// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/host_name.h"

#include <algorithm>

#include "base/address.h"

namespace rocescope {

namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsSameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

}  // namespace

bool IsOwnHost(std::string_view host, std::span<const std::string> names) {
  if (host.empty()) return true;
  std::string_view name = host;
  if (host.front() == '[') {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    name = host.substr(1, end - 1);
    return ParseIpAddress(name).has_value();
  }
  name = host.substr(0, host.find(':'));
  const auto is_it = [name](std::string_view other) { return IsSameName(name, other); };
  return is_it("localhost") || ParseIpAddress(name).has_value() ||
         std::ranges::any_of(names, is_it);
}

}  // namespace rocescope
