// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/tap_table.h"

#include <gtest/gtest.h>

#include <set>

namespace rocescope {
namespace {

TapTable::Resolution Resolve(TapTable& taps, TapId capture, const MirrorInfo& mirror,
                             Timestamp at) {
  return taps.Resolve({.timestamp = at, .tap = capture}, mirror);
}

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

Timestamp At(int64_t after_start_ns) { return FromNanoseconds(kStart + after_start_ns); }

MirrorInfo Erspan3(uint16_t session = 3) {
  return {.kind = MirrorKind::kErspan3,
          .direction = MirrorDirection::kIngress,
          .session = session,
          .source = IpAddress::FromV4(0x0a000005)};
}

MirrorInfo Numbered(uint32_t sequence) {
  MirrorInfo mirror = Erspan3();
  mirror.has_sequence = true;
  mirror.sequence = sequence;
  return mirror;
}

MirrorInfo Stamped(uint32_t units) {
  MirrorInfo mirror = Erspan3();
  mirror.has_timestamp = true;
  mirror.granularity = wire::ErspanGranularity::k100Nanoseconds;
  mirror.timestamp = units;
  return mirror;
}

// Timestamp of an IEEE 1588 clock including seconds.
MirrorInfo StampedWhole(int64_t ns) {
  MirrorInfo mirror = Erspan3();
  mirror.has_timestamp = true;
  mirror.has_seconds = true;
  mirror.granularity = wire::ErspanGranularity::kIeee1588;
  mirror.timestamp = static_cast<uint32_t>(ns % kSecond);
  mirror.timestamp_upper = static_cast<uint32_t>(ns / kSecond);
  return mirror;
}

uint64_t LostAmong(std::initializer_list<uint32_t> sequences) {
  TapTable taps({"leaf1"});
  for (const uint32_t sequence : sequences) Resolve(taps, 0, Numbered(sequence), At(0));
  return taps.MirrorStreams().at(0).lost;
}

TEST(TapTable, UsesCaptureAsTap) {
  TapTable taps({"leaf1", "leaf2"});
  const TapTable::Resolution sighted = Resolve(taps, 1, {}, At(5));
  EXPECT_EQ(sighted.tap, 1);
  EXPECT_EQ(sighted.event_time, At(5));
  EXPECT_EQ(taps.taps()[1].name, "leaf2");
  EXPECT_EQ(taps.taps()[1].frames, 1u);
}

TEST(TapTable, AssignsTunnelsWithoutPlaceToTheCapture) {
  TapTable taps({"leaf1"});
  for (const MirrorKind kind : {MirrorKind::kGre, MirrorKind::kVxlan, MirrorKind::kGeneve}) {
    MirrorInfo mirror = Erspan3();
    mirror.kind = kind;
    EXPECT_EQ(Resolve(taps, 0, mirror, At(0)).tap, 0);
  }
}

TEST(TapTable, NamesMirrorTapBySwitchSessionDirectionAndPort) {
  TapTable taps({"appliance"});
  MirrorInfo mirror = Erspan3();
  mirror.has_port_index = true;
  mirror.port_index = 17;
  const TapId tap = Resolve(taps, 0, mirror, At(0)).tap;
  EXPECT_EQ(taps.taps().at(tap).name, "appliance/10.0.0.5 session 3 ingress port 17");
  EXPECT_EQ(taps.taps().at(tap).capture, 0);
}

TEST(TapTable, DistinguishesMirrorsByAllFields) {
  TapTable taps({"a", "b"});
  MirrorInfo session = Erspan3(4);
  MirrorInfo direction = Erspan3();
  direction.direction = MirrorDirection::kEgress;
  MirrorInfo port = Erspan3();
  port.has_port_index = true;
  MirrorInfo source = Erspan3();
  source.source = IpAddress::FromV4(0x0a000006);
  std::set<TapId> seen;
  for (const MirrorInfo& mirror : {Erspan3(), session, direction, port, source}) {
    seen.insert(Resolve(taps, 0, mirror, At(0)).tap);
    seen.insert(Resolve(taps, 0, mirror, At(0)).tap);  // the same as before
  }
  seen.insert(Resolve(taps, 1, Erspan3(), At(0)).tap);
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(taps.taps().size(), 8u);
}

TEST(TapTable, CountsSequenceGaps) {
  EXPECT_EQ(LostAmong({10, 11, 12}), 0u);
  EXPECT_EQ(LostAmong({10, 14}), 3u);
}

TEST(TapTable, CorrectsGapForLateCopy) { EXPECT_EQ(LostAmong({10, 14, 12}), 2u); }

TEST(TapTable, HandlesSequenceWrap) {
  EXPECT_EQ(LostAmong({0xffffffff, 0}), 0u);
  EXPECT_EQ(LostAmong({0xfffffffe, 1}), 2u);
}

TEST(TapTable, TreatsLargeJumpAsSwitchRestart) { EXPECT_EQ(LostAmong({5'000'000, 0, 1, 3}), 1u); }

TEST(TapTable, TracksSequencePerSession) {
  TapTable taps({"leaf1"});
  MirrorInfo other = Numbered(500);
  other.session = 4;
  Resolve(taps, 0, Numbered(1), At(0));
  Resolve(taps, 0, other, At(0));
  Resolve(taps, 0, Numbered(2), At(0));
  for (const MirrorStream& stream : taps.MirrorStreams()) EXPECT_EQ(stream.lost, 0u);
}

TEST(TapTable, UsesSwitchTimeIfClocksAgree) {
  TapTable taps({"leaf1"});
  const Timestamp event = Resolve(taps, 0, StampedWhole(kStart), At(40'000)).event_time;
  EXPECT_EQ(event, At(0));
}

TEST(TapTable, AppliesClockOffsetDeterminedOnce) {
  TapTable taps({"leaf1"});
  const int64_t uptime = 3600 * kSecond;
  EXPECT_EQ(Resolve(taps, 0, StampedWhole(uptime), At(0)).event_time, At(0));
  // 1 ms later by the switch's clock, 1.5 ms by the capture clock: the switch's measurement is
  // used.
  EXPECT_EQ(Resolve(taps, 0, StampedWhole(uptime + 1'000'000), At(1'500'000)).event_time,
            At(1'000'000));
}

// 2^32 units of 100 ns are 429.4967296 s.
TEST(TapTable, HandlesWrapOf100NanosecondClock) {
  TapTable taps({"leaf1"});
  const Timestamp before = Resolve(taps, 0, Stamped(0xfffffff0), At(0)).event_time;
  const Timestamp after = Resolve(taps, 0, Stamped(0x10), At(3'200)).event_time;
  EXPECT_EQ(after - before, std::chrono::nanoseconds(3'200));  // 32 units
}

TEST(TapTable, HandlesManyWrapsOf100NanosecondClock) {
  TapTable taps({"leaf1"});
  const Timestamp first = Resolve(taps, 0, Stamped(1000), At(0)).event_time;
  uint64_t units = 1000;
  for (int i = 1; i <= 50; ++i) {
    units += 1'000'000'000;  // 100 s
    const Timestamp event =
        Resolve(taps, 0, Stamped(static_cast<uint32_t>(units)), At(100 * i * kSecond + 7))
            .event_time;
    ASSERT_EQ(event - first, std::chrono::seconds(100 * i));
  }
}

// Copies from two switches with different clocks at one port belong to the same interval.
TEST(TapTable, CorrectsClocksThatDifferByMoreThanAFewMilliseconds) {
  TapTable taps({"leaf1"});
  const int64_t skew = 900'000'000;
  Resolve(taps, 0, StampedWhole(kStart - skew), At(0));
  EXPECT_EQ(Resolve(taps, 0, StampedWhole(kStart - skew + 500), At(520)).event_time, At(500));
}

TEST(TapTable, DoesNotCorrectCloseClocks) {
  TapTable taps({"leaf1"});
  Resolve(taps, 0, StampedWhole(kStart - 9'000'000), At(0));
  EXPECT_EQ(Resolve(taps, 0, StampedWhole(kStart - 8'999'000), At(1'500)).event_time,
            At(-8'999'000));
}

// A forged packet or a clock that was set must not make the table's time jump.
TEST(TapTable, StaysWithinASecondOfCaptureTimeWhenSwitchClockJumps) {
  TapTable taps({"leaf1"});
  Resolve(taps, 0, StampedWhole(kStart), At(0));
  for (const int64_t told : {int64_t{0}, int64_t{4'294'967'295} * kSecond, kStart - 5 * kSecond}) {
    const Timestamp event = Resolve(taps, 0, StampedWhole(told), At(10)).event_time;
    EXPECT_LT(event - At(10), std::chrono::seconds(1));
    EXPECT_GT(event - At(10), std::chrono::seconds(-1));
  }
  EXPECT_EQ(Resolve(taps, 0, StampedWhole(kStart + 20), At(25)).event_time, At(20));
}

TEST(TapTable, HandlesTheLargestTimestamps) {
  TapTable taps({"leaf1"});
  MirrorInfo mirror = Erspan3();
  mirror.has_timestamp = true;
  mirror.has_upper_timestamp = true;
  mirror.granularity = wire::ErspanGranularity::k100Nanoseconds;
  Resolve(taps, 0, mirror, At(0));
  mirror.timestamp = 0xffffffff;
  mirror.timestamp_upper = 0x80000000u / 100 - 1;
  EXPECT_EQ(Resolve(taps, 0, mirror, At(10)).event_time, At(10));
}

// Headers of every kind with times at both bounds; the sanitizer checks for overflows.
TEST(TapTable, StaysNearTheCaptureTimeAtTheBoundsOfTime) {
  TapTable taps({"leaf1"});
  MirrorInfo upper = Erspan3();
  upper.has_timestamp = true;
  upper.has_upper_timestamp = true;
  upper.granularity = wire::ErspanGranularity::k100Microseconds;
  MirrorInfo latest = upper;
  latest.timestamp = 0xffffffff;
  latest.timestamp_upper = 0x80000000u / 100'000 - 1;
  MirrorInfo wrapping = latest;
  wrapping.has_upper_timestamp = false;
  const Timestamp captures[] = {kEarliestTime, kLatestTime, At(0)};
  for (int round = 0; round < 60; ++round) {
    const Timestamp capture = captures[round / 4 % 3];
    for (const MirrorInfo& mirror : {latest, upper, wrapping, StampedWhole(kStart)}) {
      const Timestamp event = Resolve(taps, 0, mirror, capture).event_time;
      ASSERT_LE(std::chrono::abs(event - capture), std::chrono::seconds(1)) << "round " << round;
    }
  }
}

TEST(TapTable, AssignsCopiesToCaptureWhenFull) {
  TapTable taps({"leaf1"});
  for (size_t i = 0; i < TapTable::kMaximumTaps + 100; ++i) {
    MirrorInfo mirror = Erspan3();
    mirror.has_port_index = true;
    mirror.port_index = static_cast<uint32_t>(i);
    Resolve(taps, 0, mirror, At(0));
  }
  EXPECT_EQ(taps.taps().size(), TapTable::kMaximumTaps);
  EXPECT_EQ(taps.overflow(), 101u);  // one tap is the capture itself
  EXPECT_EQ(taps.taps()[0].frames, 101u);
}

TEST(TapTable, AssignsCopiesToCaptureWithTooManySwitches) {
  TapTable taps({"leaf1"});
  uint64_t frames = 0;
  for (uint32_t i = 0; i < TapTable::kMaximumTaps * 2; ++i) {
    MirrorInfo mirror = Erspan3();
    mirror.source = IpAddress::FromV4(i);
    Resolve(taps, 0, mirror, At(0));
  }
  for (const Tap& tap : taps.taps()) frames += tap.frames;
  EXPECT_EQ(frames, TapTable::kMaximumTaps * 2);
  EXPECT_LE(taps.MirrorStreams().size(), TapTable::kMaximumTaps);
}

}  // namespace
}  // namespace rocescope
