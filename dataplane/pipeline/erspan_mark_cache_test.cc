// SPDX-License-Identifier: BSD-3-Clause
// That a header recognised is as good as one that was read.
#include "dataplane/pipeline/erspan_mark_cache.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "dataplane/pipeline/tap_table.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;

// Copies from many ports of a few switches, of every clock and platform, at about their own time.
class Copies {
 public:
  explicit Copies(size_t count) {
    const Bytes inner = RoceFrame().Bth({.opcode = 0x04}).Payload(8).Build();
    for (size_t i = 0; i < count; ++i) {
      now_ += static_cast<int64_t>(random_() % 1'000'000);
      bytes_.push_back(Copy(inner, static_cast<uint32_t>(i / 16)));
      times_.push_back(now_);
      captures_.push_back(static_cast<uint16_t>(random_() % 2));
    }
  }

  RawFrame At(size_t i) const {
    return {.bytes = bytes_[i],
            .original_length = static_cast<uint32_t>(bytes_[i].size()),
            .timestamp = FromNanoseconds(times_[i]),
            .tap = captures_[i]};
  }

 private:
  Bytes Copy(const Bytes& inner, uint32_t sequence) {
    const auto granularity = static_cast<wire::ErspanGranularity>(random_() % 4);
    const bool ieee = granularity == wire::ErspanGranularity::kIeee1588;
    const int64_t unit = std::max<int64_t>(1, wire::NanosecondsOf(granularity));
    const int64_t told = now_ - static_cast<int64_t>(random_() % 20'000);
    const std::string source = "10.9.0." + std::to_string(1 + random_() % 4);
    const Outer outer{.source = source};
    const wire::Erspan3Header header{
        .session = static_cast<uint16_t>(1 + random_() % 3),
        .timestamp = static_cast<uint32_t>(ieee ? told % kSecond : told / unit),
        .hardware_id = static_cast<uint8_t>(random_() % 2),
        .egress = random_() % 2 == 0,
        .granularity = granularity};
    if (random_() % 4 == 0) return InErspan3(inner, header, sequence, outer);
    const auto platform = static_cast<uint8_t>(random_() % 8);
    const bool upper = platform == 3 || platform == 7;
    const auto word = upper           ? told / unit >> 32
                      : platform == 1 ? static_cast<int64_t>(random_() % 8)
                                      : told / kSecond;
    return InErspan3(inner, header, sequence,
                     {.platform_id = platform,
                      .info = static_cast<uint32_t>(random_() % 8),
                      .word = static_cast<uint32_t>(word)},
                     outer);
  }

  std::mt19937_64 random_{5};
  int64_t now_ = kStart;
  std::vector<Bytes> bytes_;
  std::vector<int64_t> times_;
  std::vector<uint16_t> captures_;
};

TEST(ErspanMarkCache, LeadsToTheTapAndTheTimeThatTheWholeHeaderTells) {
  const Copies copies(20'000);
  TapTable recognises({"a", "b"});
  TapTable reads({"a", "b"});
  std::set<TapId> taps;
  for (size_t i = 0; i < 20'000; ++i) {
    const RawFrame raw = copies.At(i);
    ErspanMark mark;
    MirrorInfo mirror;
    AddressPairHash(raw, mark, mirror);
    ASSERT_NE(mark.who, 0u);
    const TapTable::Resolution one = recognises.Resolve(raw, mark);
    const TapTable::Resolution other = reads.Resolve(raw, FindMirror(raw));
    ASSERT_EQ(one.tap, other.tap) << "copy " << i;
    ASSERT_EQ(one.event_time, other.event_time) << "copy " << i;
    taps.insert(one.tap);
  }
  EXPECT_GT(taps.size(), 200u);
  const std::vector<MirrorStream> followed = recognises.MirrorStreams();
  const std::vector<MirrorStream> expected = reads.MirrorStreams();
  ASSERT_EQ(followed.size(), expected.size());
  for (size_t i = 0; i < followed.size(); ++i) {
    EXPECT_EQ(followed[i].frames, expected[i].frames);
    EXPECT_EQ(followed[i].lost, expected[i].lost);
    EXPECT_EQ(followed[i].clock_offset_ns, expected[i].clock_offset_ns);
  }
}

ErspanMark MarkOf(uint64_t source, uint32_t where = 5u << 26) {
  return {.who = source << 32 | ErspanMark::kPresent, .where = where};
}

TEST(ErspanMarkCache, KnowsWhatItRemembers) {
  ErspanMarkCache memory;
  memory.Remember(1, MarkOf(7), {.tap = 3, .clock = 2});
  const ErspanMarkCache::Slot* found = memory.Find(1, MarkOf(7));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->tap, 3);
  EXPECT_EQ(found->clock, 2);
}

TEST(ErspanMarkCache, TellsCapturesSwitchesAndPortsApart) {
  ErspanMarkCache memory;
  memory.Remember(1, MarkOf(7), {.tap = 3});
  EXPECT_EQ(memory.Find(0, MarkOf(7)), nullptr);
  EXPECT_EQ(memory.Find(1, MarkOf(8)), nullptr);
  EXPECT_EQ(memory.Find(1, MarkOf(7, 5u << 26 | 1)), nullptr);
}

// More marks than places: some are forgotten, none is taken for another.
TEST(ErspanMarkCache, MistakesNoMarkForAnother) {
  ErspanMarkCache memory;
  for (uint32_t i = 0; i < 10'000; ++i) {
    memory.Remember(0, MarkOf(i), {.tap = static_cast<TapId>(i)});
  }
  size_t known = 0;
  for (uint32_t i = 0; i < 10'000; ++i) {
    const ErspanMarkCache::Slot* found = memory.Find(0, MarkOf(i));
    if (found == nullptr) continue;
    ++known;
    ASSERT_EQ(found->tap, i);
  }
  EXPECT_GT(known, 2'000u);
  EXPECT_LE(known, 4'096u);
}

TEST(ErspanMarkCache, LeavesLongPortsToThoseWhoReadThem) {
  ErspanMarkCache memory;
  memory.Remember(0, MarkOf(7, 1u << 26), {.tap = 3});
  EXPECT_EQ(memory.Find(0, MarkOf(7, 1u << 26)), nullptr);
}

}  // namespace
}  // namespace rocescope::test
