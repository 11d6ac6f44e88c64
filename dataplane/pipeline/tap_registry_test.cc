// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/tap_registry.h"

#include <gtest/gtest.h>

#include <thread>

#include "dataplane/pipeline/tap_table.h"

namespace rocescope {
namespace {

TapTable::Resolution Resolve(TapTable& taps, TapId capture, const MirrorInfo& mirror,
                             Timestamp at) {
  return taps.Resolve({.timestamp = at, .tap = capture}, mirror);
}

MirrorLocation Port(uint32_t port) {
  return {.source = IpAddress::FromV4(0x0a000005),
          .session = 3,
          .kind = MirrorKind::kErspan3,
          .direction = MirrorDirection::kIngress,
          .has_port_index = true,
          .port_index = port};
}

MirrorInfo CopyAt(uint32_t port) {
  return {.kind = MirrorKind::kErspan3,
          .direction = MirrorDirection::kIngress,
          .has_port_index = true,
          .session = 3,
          .port_index = port,
          .source = IpAddress::FromV4(0x0a000005)};
}

TEST(TapRegistry, NumbersCapturesFirst) {
  const TapRegistry registry({"leaf1", "leaf2"});
  const std::vector<Tap> taps = registry.Taps();
  ASSERT_EQ(taps.size(), 2u);
  EXPECT_EQ(taps[0].name, "leaf1");
  EXPECT_EQ(taps[1].name, "leaf2");
  EXPECT_EQ(taps[1].capture, 1);
}

TEST(TapRegistry, NumbersPlacesInOrderOfFirstUse) {
  TapRegistry registry({"leaf1"});
  EXPECT_EQ(registry.NumberOf(Port(7)), 1);
  EXPECT_EQ(registry.NumberOf(Port(5)), 2);
  EXPECT_EQ(registry.NumberOf(Port(7)), 1);
  EXPECT_EQ(registry.Taps().at(2).name, "leaf1/10.0.0.5 session 3 ingress port 5");
}

TEST(TapRegistry, KeepsKnownPlacesWhenFull) {
  TapRegistry registry({"leaf1"});
  for (uint32_t port = 1; port < TapRegistry::kMaximumTaps; ++port) {
    ASSERT_EQ(registry.NumberOf(Port(port)), port);
  }
  EXPECT_EQ(registry.NumberOf(Port(TapRegistry::kMaximumTaps)), std::nullopt);
  EXPECT_EQ(registry.NumberOf(Port(17)), 17);
}

TEST(TapRegistry, GivesTwoCoresTheSameNumber) {
  const auto registry = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"});
  TapTable one(registry);
  TapTable other(registry);
  Resolve(one, 0, CopyAt(7), {});
  const TapId five = Resolve(other, 0, CopyAt(5), {}).tap;
  const TapId seven = Resolve(other, 0, CopyAt(7), {}).tap;
  EXPECT_EQ(Resolve(one, 0, CopyAt(7), {}).tap, seven);
  EXPECT_EQ(Resolve(one, 0, CopyAt(5), {}).tap, five);
  EXPECT_EQ(one.taps().size(), 3u);
}

TEST(TapRegistry, KeepsFrameCountsPerCore) {
  const auto registry = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"});
  TapTable one(registry);
  TapTable other(registry);
  for (int i = 0; i < 3; ++i) Resolve(one, 0, CopyAt(7), {});
  Resolve(other, 0, CopyAt(7), {});
  EXPECT_EQ(one.taps().at(1).frames, 3u);
  EXPECT_EQ(other.taps().at(1).frames, 1u);
}

TEST(TapRegistry, GivesKnownPlacesToLateCoresWhenFull) {
  const auto registry = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"});
  TapTable early(registry);
  TapTable late(registry);
  for (uint32_t port = 1; port <= TapTable::kMaximumTaps; ++port) {
    Resolve(early, 0, CopyAt(port), {});
  }
  EXPECT_EQ(Resolve(late, 0, CopyAt(9'999), {}).tap, 0);
  EXPECT_EQ(Resolve(late, 0, CopyAt(17), {}).tap, 17);
  EXPECT_EQ(late.overflow(), 1u);
  EXPECT_EQ(late.taps().at(17).frames, 1u);
}

// Runs under ThreadSanitizer, and checks that the cores agree.
TEST(TapRegistry, ServesConcurrentCores) {
  constexpr uint32_t kPorts = 500;
  constexpr uint32_t kCores = 4;
  const auto registry = std::make_shared<TapRegistry>(std::vector<std::string>{"leaf1"});
  std::vector<std::vector<TapId>> numbers(kCores, std::vector<TapId>(kPorts));
  std::vector<std::thread> cores;
  for (uint32_t core = 0; core < kCores; ++core) {
    cores.emplace_back([&, core] {
      TapTable table(registry);
      for (uint32_t i = 0; i < kPorts; ++i) {
        const uint32_t port = core % 2 == 0 ? i : kPorts - 1 - i;
        numbers[core][port] = Resolve(table, 0, CopyAt(port), {}).tap;
      }
    });
  }
  for (std::thread& core : cores) core.join();
  for (uint32_t core = 1; core < kCores; ++core) EXPECT_EQ(numbers[core], numbers[0]);
  EXPECT_EQ(registry->Taps().size(), kPorts + 1);
}

}  // namespace
}  // namespace rocescope
