// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/http/host_name.h"

#include <algorithm>
#include <string>

#include "base/address.h"

namespace rocescope {

bool IsOwnHost(std::string_view host) {
  if (host.empty()) return true;
  std::string_view name = host;
  if (host.front() == '[') {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    name = host.substr(1, end - 1);
    return ParseIpAddress(name).has_value();
  }
  name = host.substr(0, host.find(':'));
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower == "localhost" || ParseIpAddress(name).has_value();
}

}  // namespace rocescope
