// SPDX-License-Identifier: BSD-3-Clause
// Whose counter it is.
#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"
#include "dataplane/record/metric.h"

namespace rocescope {

// sFlow names it by `agent` and `index`, counters.jsonl by `node` and `port`.
struct CounterEntity {
  static constexpr uint32_t kNoIndex = UINT32_MAX;
  static constexpr uint8_t kAllPriorities = UINT8_MAX;

  EntityKind kind = EntityKind::kPort;
  uint8_t priority = kAllPriorities;
  uint32_t index = kNoIndex;  // of a port its ifIndex, of a GPU its number
  IpAddress agent;            // unspecified where it has a name
  std::string node;           // a switch's or host's name; empty: not known
  std::string port;           // a port's or device's; empty: see index

  friend bool operator==(const CounterEntity&, const CounterEntity&) = default;
};

}  // namespace rocescope
