// SPDX-License-Identifier: BSD-3-Clause
// The entity that a counter belongs to.
#pragma once

#include <cstdint>
#include <string>

#include "base/address.h"
#include "dataplane/record/metric.h"

namespace rocescope {

// sFlow identifies it by `agent` and `index`, counters.jsonl by `node` and `port`.
struct CounterEntity {
  static constexpr uint32_t kNoIndex = UINT32_MAX;
  static constexpr uint8_t kAllPriorities = UINT8_MAX;

  EntityKind kind = EntityKind::kPort;
  uint8_t priority = kAllPriorities;
  uint32_t index = kNoIndex;  // ifIndex of a port, or number of a GPU
  IpAddress agent;            // unspecified if the entity has a name
  std::string node;           // name of the switch or host; empty: unknown
  std::string port;           // name of the port or device; empty: use `index`

  friend bool operator==(const CounterEntity&, const CounterEntity&) = default;
};

}  // namespace rocescope
