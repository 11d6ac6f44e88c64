// SPDX-License-Identifier: BSD-3-Clause
// For tests of transformed counters: a plain profile, and readings with their exact values.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/profile/fake_counters.h"
#include "sim/profile/transform.h"

namespace rocescope::sim {

inline constexpr uint32_t kRxPackets = 0;  // position in the readings of ports and NICs

// All devices are polled every 10 s at the same time.
inline Profile Plain() {
  Profile profile;
  profile.file = "test.yaml";
  profile.name = "test";
  profile.switches.period = std::chrono::seconds(10);
  profile.nics.period = std::chrono::seconds(10);
  return profile;
}

struct Transformed {
  KeptReadings sink;
  TransformReport report;
};

inline Transformed Collect(FakeCounters& exact, const Profile& profile, uint64_t seed = 1,
                           double scale = 1) {
  Transformed result;
  auto report = Transform(exact, profile, {.scale = scale, .seed = seed}, result.sink);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  if (report) result.report = *std::move(report);
  EXPECT_TRUE(exact.in_order);
  EXPECT_TRUE(result.sink.in_order);
  return result;
}

inline Transformed Collect(const Profile& profile, uint32_t switches = 4,
                           Duration length = std::chrono::seconds(100), uint64_t seed = 1) {
  FakeCounters exact(switches, length);
  return Collect(exact, profile, seed);
}

// The index in FakeCounters of the entity of a reading.
inline uint32_t IndexOf(const FakeCounters& exact, const CounterEntity& entity) {
  const auto entities = exact.entities();
  return static_cast<uint32_t>(
      std::find_if(entities.begin(), entities.end(),
                   [&](const auto& each) { return each.entity == entity; }) -
      entities.begin());
}

// The time at which the counter had this value.
inline Timestamp ExactTime(const FakeCounters& exact, const CounterEntity& entity, uint64_t value) {
  return kFakeBegin + std::chrono::microseconds(value / (IndexOf(exact, entity) + 1));
}

inline std::vector<KeptReadings::Reading> PortsOf(const Transformed& result) {
  std::vector<KeptReadings::Reading> ports;
  for (const auto& reading : result.sink.readings) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    if (entity.kind == EntityKind::kPort && entity.priority == CounterEntity::kAllPriorities) {
      ports.push_back(reading);
    }
  }
  return ports;
}

}  // namespace rocescope::sim
