// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/link_block.h"

#include <gmock/gmock.h>

#include <bit>
#include <limits>
#include <random>

namespace rocescope {
namespace {

using testing::HasSubstr;

// Compares the bits of doubles, so that NaN equals itself.
bool IsSame(const LinkMinute& a, const LinkMinute& b) {
  LinkMinute x = a;
  LinkMinute y = b;
  x.use_sum = y.use_sum = x.use_most = y.use_most = 0;
  return x == y && std::bit_cast<uint64_t>(a.use_sum) == std::bit_cast<uint64_t>(b.use_sum) &&
         std::bit_cast<uint64_t>(a.use_most) == std::bit_cast<uint64_t>(b.use_most);
}

LinkBlock Stored(const LinkBlockBuilder& builder) {
  Compressor compressor;
  Decompressor decompressor;
  auto block = LinkBlock::Parse(builder.Write(compressor), decompressor);
  EXPECT_TRUE(block) << block.error().message;
  return block ? *std::move(block) : LinkBlock();
}

// A link of 400 Gbit/s with windows of a second, as LinkRollUp adds them.
LinkMinute BusyMinute(std::mt19937& random) {
  constexpr double kBits = 4e11;
  std::normal_distribution<double> load(2e10, 2e9);
  LinkMinute minute;
  for (int window = 0; window < 60; ++window) {
    const auto bytes = static_cast<uint64_t>(load(random));
    const double use = static_cast<double>(bytes) * 8 / kBits;
    ++minute.windows;
    ++minute.use_windows;
    minute.use_sum += use;
    minute.use_most = std::max(minute.use_most, use);
    minute.bytes += bytes;
  }
  return minute;
}

TEST(LinkBlock, RestoresTypicalMinutesExactlyInFewBytes) {
  std::mt19937 random(1);
  std::vector<LinkMinute> minutes;
  LinkBlockBuilder builder;
  for (size_t i = 0; i < kLinksPerBlock * kMinutesPerBlock; ++i) {
    minutes.push_back(BusyMinute(random));
    builder.Add(i / kMinutesPerBlock, i % kMinutesPerBlock, minutes.back());
  }
  const LinkBlock block = Stored(builder);
  for (size_t i = 0; i < minutes.size(); ++i) {
    const auto found = block.Find(i / kMinutesPerBlock, i % kMinutesPerBlock);
    ASSERT_TRUE(found);
    ASSERT_TRUE(IsSame(*found, minutes[i])) << i;
  }
  Compressor compressor;
  EXPECT_LT(builder.Write(compressor).size(), 10 * minutes.size());
}

TEST(LinkBlock, RestoresAnyValuesExactly) {
  std::mt19937_64 random(1);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> doubles = {0,
                                       -0.0,
                                       1,
                                       0.1,
                                       -5,
                                       1e300,
                                       std::numeric_limits<double>::denorm_min(),
                                       kInfinity,
                                       -kInfinity,
                                       std::numeric_limits<double>::quiet_NaN()};
  const std::vector<uint64_t> numbers = {0, 1, 255, 256, UINT64_MAX, UINT64_MAX / 2, 1u << 31};
  const auto any = [&](const auto& values) { return values[random() % values.size()]; };
  Compressor compressor;
  Decompressor decompressor;
  LinkBlock single;
  for (int round = 0; round < 5; ++round) {
    LinkBlockBuilder builder;
    std::vector<std::optional<LinkMinute>> cells(kLinksPerBlock * kMinutesPerBlock);
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i / kMinutesPerBlock % 3 == 1 || random() % 4 == 0) continue;
      cells[i] = LinkMinute{.windows = static_cast<uint32_t>(any(numbers)),
                            .use_windows = static_cast<uint32_t>(any(numbers)),
                            .use_sum = any(doubles),
                            .use_most = any(doubles),
                            .bytes = any(numbers),
                            .marked = any(numbers),
                            .dropped = any(numbers),
                            .paused_ns = random(),
                            .peak_bytes = any(numbers),
                            .errors = any(numbers)};
      builder.Add(i / kMinutesPerBlock, i % kMinutesPerBlock, *cells[i]);
    }
    const LinkBlock block = Stored(builder);
    for (size_t i = 0; i < cells.size(); ++i) {
      const auto found = block.Find(i / kMinutesPerBlock, i % kMinutesPerBlock);
      ASSERT_EQ(found.has_value(), cells[i].has_value()) << i;
      if (found) {
        ASSERT_TRUE(IsSame(*found, *cells[i])) << i;
      }
    }
    const std::string bytes = builder.Write(compressor);
    std::vector<LinkBlock> minutes;
    for (size_t minute = 0; minute < kMinutesPerBlock; ++minute) {
      minutes.push_back(*LinkBlock::Parse(bytes, decompressor, {.minute = minute}));
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t link = i / kMinutesPerBlock;
      const size_t minute = i % kMinutesPerBlock;
      if (minute == 0) single = *LinkBlock::Parse(bytes, decompressor, {.link = link});
      for (const LinkBlock* part : {&single, &minutes[minute]}) {
        const auto found = part->Find(link, minute);
        ASSERT_EQ(found.has_value(), cells[i].has_value()) << i;
        if (found) {
          ASSERT_TRUE(IsSame(*found, *cells[i])) << i;
        }
      }
      ASSERT_FALSE(single.Find((link + 1) % kLinksPerBlock, minute));
      ASSERT_FALSE(minutes[minute].Find(link, (minute + 1) % kMinutesPerBlock));
    }
  }
}

TEST(LinkBlock, IdleLinksTakeNoSpace) {
  LinkBlockBuilder builder;
  for (size_t link = 0; link < kLinksPerBlock; ++link) {
    for (size_t minute = 0; minute < kMinutesPerBlock; ++minute) {
      builder.Add(link, minute, {.windows = 60, .use_windows = 60});
    }
  }
  Compressor compressor;
  EXPECT_LT(builder.Write(compressor).size(), 400u);
  EXPECT_EQ(Stored(builder).Find(127, 59)->windows, 60u);
  EXPECT_FALSE(Stored({}).Find(0, 0));
}

TEST(LinkBlock, AddsTheSameMinute) {
  LinkBlockBuilder builder;
  builder.Add(3, 4, {.windows = 1, .use_sum = 0.5, .use_most = 0.5, .bytes = 7, .peak_bytes = 9});
  builder.Add(3, 4, {.windows = 2, .use_sum = 0.25, .use_most = 0.25, .bytes = 8, .peak_bytes = 5});
  EXPECT_EQ(
      Stored(builder).Find(3, 4),
      (LinkMinute{.windows = 3, .use_sum = 0.75, .use_most = 0.5, .bytes = 15, .peak_bytes = 9}));
  EXPECT_FALSE(Stored(builder).Find(4, 3));
}

TEST(LinkBlock, DamagedBytesAreErrors) {
  std::mt19937 random(1);
  LinkBlockBuilder builder;
  for (size_t i = 0; i < 120; ++i) builder.Add(i % 2, i / 2, BusyMinute(random));
  Compressor compressor;
  Decompressor decompressor;
  const std::string bytes = builder.Write(compressor);
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(LinkBlock::Parse(bytes.substr(0, i), decompressor)) << i;
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    // A changed value of a column with equal cells cannot be noticed; it must not crash.
    const auto block = LinkBlock::Parse(changed, decompressor);
    if (block) (void)block->Find(0, 0);
  }
  const auto longer = LinkBlock::Parse(bytes + "x", decompressor);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("bytes after the last column"));
  EXPECT_FALSE(LinkBlock::Parse("", decompressor));
  std::string newer = bytes;
  newer[0] = 2;
  EXPECT_THAT(LinkBlock::Parse(newer, decompressor).error().message,
              HasSubstr("an unknown version"));
}

TEST(LinkBlock, RandomBytesAreErrors) {
  std::mt19937 random(1);
  Decompressor decompressor;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    if (!bytes.empty()) bytes[0] = 1;
    EXPECT_FALSE(LinkBlock::Parse(bytes, decompressor));
  }
}

}  // namespace
}  // namespace rocescope
