// SPDX-License-Identifier: BSD-3-Clause
// Fabrics and options for tests.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "appliance/cli/plan/collector.h"
#include "appliance/cli/plan/plan.h"
#include "topology/generate.h"

namespace rocescope::plan {

// 128 hosts on 8 leaves with 16 spines; all links have 100 Gbit/s.
inline topology::Fabric LeafSpine() {
  return *topology::Generate({.hosts = 128, .leaves = 8, .spines = 16});
}

// One leaf with two hosts; 172.16.0.1 is its address for all telemetry.
inline topology::Fabric TwoHosts() {
  return *topology::Generate({.shape = topology::Shape::kStar, .hosts = 2});
}

// The fabric with its ports EthernetN named Ethernet1/N.
inline topology::Fabric WithSlots(const topology::Fabric& fabric) {
  constexpr std::string_view kPrefix = "Ethernet";
  topology::Fabric::Parts parts = fabric.parts();
  for (topology::Port& port : parts.ports) {
    if (port.name.starts_with(kPrefix)) port.name.insert(kPrefix.size(), "1/");
  }
  return *topology::Fabric::Make(std::move(parts));
}

// Collectors of this speed; the first one is connected to leaf0.
inline PlanOptions CollectorsOf(uint64_t bits_per_second, size_t count = 1) {
  PlanOptions options;
  for (size_t i = 0; i < count; ++i) {
    options.collectors.push_back({.interface = "eth" + std::to_string(i),
                                  .bits_per_second = bits_per_second,
                                  .node = "leaf0",
                                  .port = "Ethernet9" + std::to_string(i),
                                  .address = IpAddress::FromV4(0xac1f0001 + i)});
  }
  return options;
}

inline constexpr uint64_t kGigabit = 1'000'000'000;

}  // namespace rocescope::plan
