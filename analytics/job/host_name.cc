// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_name.h"

#include <algorithm>

namespace rocescope {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string_view ShortHostName(std::string_view host) { return host.substr(0, host.find('.')); }

std::string HostKey(std::string_view host) {
  std::string key(ShortHostName(host));
  std::ranges::transform(key, key.begin(), Lower);
  return key;
}

std::string NormalHostName(std::string_view host) {
  if (host.ends_with('.')) host.remove_suffix(1);
  std::string name(host);
  std::ranges::transform(name, name.begin(), Lower);
  return name;
}

bool SameHost(std::string_view a, std::string_view b) {
  // "gpu-7." is the absolute spelling of "gpu-7".
  if (a.ends_with('.')) a.remove_suffix(1);
  if (b.ends_with('.')) b.remove_suffix(1);
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty()) return b.empty();
  const bool is_prefix = std::equal(a.begin(), a.end(), b.begin(),
                                    [](char x, char y) { return Lower(x) == Lower(y); });
  return is_prefix && (a.size() == b.size() || b[a.size()] == '.');
}

}  // namespace rocescope
