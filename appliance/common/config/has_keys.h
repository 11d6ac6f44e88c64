// SPDX-License-Identifier: BSD-3-Clause
// The names of a mapping's keys, from its VisitKeys in config_keys.h or agent_config_keys.h.
#pragma once

#include <string_view>
#include <vector>

namespace rocescope {

// A visitor that collects the names of the keys.
struct NamesOfKeys {
  std::vector<std::string_view> names;
  template <typename T>
  void Key(std::string_view name, T&&, std::string_view) {
    names.push_back(name);
  }
};

// A type with a function VisitKeys: a mapping in the configuration.
template <typename T>
concept HasKeys = requires(T& config, NamesOfKeys& names) { VisitKeys(config, names); };

}  // namespace rocescope
