// SPDX-License-Identifier: BSD-3-Clause
// Truncated, damaged and hostile files of counters in columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "dataplane/run/counter_columns_fixture.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Two readings of an entity with one metric.
v1::CounterBlock FirstBlock() {
  v1::CounterBlock block;
  block.add_metrics("rx_bytes");
  v1::CounterColumnEntity& entity = *block.add_entities();
  entity.set_kind("port");
  entity.set_node("leaf0");
  entity.set_port("Ethernet4");
  entity.add_metrics(0);
  block.set_readings(2);
  block.mutable_numbers()->add_planes(std::string("\x00\x01", 2));
  block.mutable_arrivals()->add_planes("\x02\x04");
  block.add_values()->add_planes("\x64\x64");
  return block;
}

// Two more readings of the same entity.
v1::CounterBlock LaterBlock() {
  v1::CounterBlock block = FirstBlock();
  block.clear_metrics();
  block.clear_entities();
  block.mutable_numbers()->set_planes(0, "\x01\x01");
  return block;
}

// Returns the error of a file with this block.
std::string ErrorOfBlock(const std::function<void(v1::CounterBlock&)>& change) {
  v1::CounterBlock block = FirstBlock();
  change(block);
  return ReadAllColumns(ColumnsOf({block})).error.value_or("none");
}
std::string ErrorOfContent(const std::string& content) {
  return ReadAllColumns(MagicOfColumns() + FrameOf(content) + Number(0, 12)).error.value_or("none");
}

TEST(CounterColumnsDamage, ReadsTheHandMadeBlocks) {
  const ReadColumns read = ReadAllColumns(ColumnsOf({FirstBlock(), LaterBlock()}));
  EXPECT_EQ(read.error, std::nullopt);
  ASSERT_EQ(read.readings.size(), 4u);
  EXPECT_EQ(read.readings[0].entity.port, "Ethernet4");
  EXPECT_EQ(read.readings[3].time_ns, 6) << "1 + 2 + 1 + 2";
  EXPECT_EQ(read.readings[3].values, std::vector<uint64_t>{200}) << "four times 50";
}

TEST(CounterColumnsDamage, ReadsATruncatedFileUpToItsLastWholeBlock) {
  const std::string whole = ColumnsOf({FirstBlock(), LaterBlock(), LaterBlock()});
  const size_t first = 8;
  const size_t second = first + FrameOf(FirstBlock().SerializeAsString()).size();
  const size_t third = second + FrameOf(LaterBlock().SerializeAsString()).size();
  const size_t mark = third + FrameOf(LaterBlock().SerializeAsString()).size();
  for (size_t length = first; length < whole.size(); ++length) {
    const size_t block = length < second ? 1 : length < third ? 2 : length < mark ? 3 : 4;
    const size_t begin = std::vector<size_t>{first, second, third, mark}[block - 1];
    const ReadColumns read = ReadAllColumns(whole.substr(0, length));
    EXPECT_EQ(read.readings.size(), 2 * (block - 1)) << length;
    EXPECT_THAT(read.error.value_or("none"),
                HasSubstr("counters.columns: block " + std::to_string(block) + " at byte " +
                          std::to_string(begin) + ": "));
    EXPECT_THAT(read.error.value_or("none"), HasSubstr(length == begin ? "missing" : "truncated"));
  }
  for (size_t length = 0; length < first; ++length) {
    EXPECT_THAT(ReadAllColumns(whole.substr(0, length)).error.value_or("none"),
                HasSubstr("not a file of counters in columns"));
  }
  EXPECT_EQ(ReadAllColumns(whole).error, std::nullopt);
}

TEST(CounterColumnsDamage, FindsEachDamagedByte) {
  const std::string whole = ColumnsOf({FirstBlock(), LaterBlock(), LaterBlock()});
  const std::vector<ReadColumns::Reading> all = ReadAllColumns(whole).readings;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const uint8_t flip : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const ReadColumns read = ReadAllColumns(damaged);
      EXPECT_NE(read.error, std::nullopt) << at;
      ASSERT_LE(read.readings.size(), all.size());
      EXPECT_TRUE(std::equal(read.readings.begin(), read.readings.end(), all.begin())) << at;
    }
  }
}

TEST(CounterColumnsDamage, ReportsOtherVersions) {
  std::string later = ColumnsOf({FirstBlock()});
  later[7] = 2;
  EXPECT_THAT(ReadAllColumns(later).error.value_or("none"),
              HasSubstr("version 2 of the format; this rocescope reads version 1"));
}

TEST(CounterColumnsDamage, ChecksTheEndMark) {
  const std::string whole = ColumnsOf({FirstBlock()});
  EXPECT_THAT(ReadAllColumns(whole + "x").error.value_or("none"),
              HasSubstr("data after the end mark"));
  std::string wrong = whole;
  wrong[wrong.size() - 8] = 3;
  EXPECT_THAT(ReadAllColumns(wrong).error.value_or("none"),
              HasSubstr("the end mark counts 3 readings; the 2 readings before it were read"));
}

TEST(CounterColumnsDamage, RefusesInvalidContent) {
  using Block = v1::CounterBlock;
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.set_metrics(0, "rx_bits"); }),
              HasSubstr("block 1 at byte 8: unknown metric \"rx_bits\""));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.add_metrics("rx_bytes"); }),
              HasSubstr("duplicate metric \"rx_bytes\""));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->set_kind("prot"); }),
              HasSubstr("unknown kind of entity \"prot\""));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->set_node("\xff"); }),
              HasSubstr("node: expected a name"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->set_priority(8); }),
              HasSubstr("invalid priority"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->set_index(1); }),
              HasSubstr("index: "));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->set_metrics(0, 1); }),
              HasSubstr("an entity with an unknown metric"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_entities(0)->add_metrics(0); }),
              HasSubstr("duplicate metric"));
  EXPECT_THAT(
      ErrorOfBlock([](Block& block) { block.mutable_numbers()->set_planes(0, "\x02\x01"); }),
      HasSubstr("reading 0 is of an unknown entity"));
  EXPECT_THAT(
      ErrorOfBlock([](Block& block) { block.mutable_arrivals()->set_planes(0, "\x01\x01"); }),
      HasSubstr("reading 0 has a time out of range"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_delays()->add_planes("\x7e\x01"); }),
              HasSubstr("reading 0 has a time out of range"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_values(0)->set_planes(0, "\x01"); }),
              HasSubstr("a plane has 1 bytes, expected 2"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_values(0)->set_metric(1); }),
              HasSubstr("a column of an unknown metric"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { block.mutable_values(0)->set_metric(256); }),
              HasSubstr("invalid number of a metric"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) { *block.add_values() = block.values(0); }),
              HasSubstr("two columns of a metric"));
  EXPECT_THAT(ErrorOfBlock([](Block& block) {
                for (int i = 0; i < 8; ++i) {
                  block.mutable_values(0)->add_planes(std::string(2, '\0'));
                }
              }),
              HasSubstr("invalid planes of a column"));
  EXPECT_THAT(ErrorOfContent(FirstBlock().SerializeAsString() + "\x42\x01x"),
              HasSubstr("unknown field 8: a later version of rocescope wrote it"));
  EXPECT_THAT(ErrorOfContent(FirstBlock().SerializeAsString() + "\x42"), HasSubstr("block 1"));
  EXPECT_THAT(ErrorOfContent("\x22\x05"), HasSubstr("field 4 is malformed or exceeds its limit"));
  const std::string numbers("\x22\x00", 2);
  EXPECT_THAT(ErrorOfContent(numbers + numbers), HasSubstr("field 4 is malformed"));
}

TEST(CounterColumnsDamage, LimitsSizes) {
  EXPECT_THAT(ErrorOfBlock([](v1::CounterBlock& block) { block.set_readings(65'537); }),
              HasSubstr("field 3 is malformed or exceeds its limit"));
  EXPECT_THAT(ErrorOfBlock([](v1::CounterBlock& block) {
                for (int i = 0; i < 65'536; ++i) block.add_entities();
              }),
              HasSubstr("field 2 is malformed or exceeds its limit"));
  EXPECT_THAT(ErrorOfBlock([](v1::CounterBlock& block) {
                block.mutable_entities(0)->set_node(std::string(2000, 'x'));
              }),
              HasSubstr("field 2 is malformed or exceeds its limit"));
  EXPECT_THAT(ErrorOfBlock([](v1::CounterBlock& block) {
                for (int i = 0; i < 256; ++i) block.add_metrics("");
              }),
              HasSubstr("field 1 is malformed or exceeds its limit"));
  constexpr size_t kLimit = size_t{64} << 20;
  EXPECT_THAT(ErrorOfContent(std::string(kLimit + 1, '\0')),
              HasSubstr("its decompressed size of 67108865 bytes exceeds 67108864"));
  const ReadColumns read = ReadAllColumns(MagicOfColumns() + Number(kLimit + 1, 4));
  EXPECT_THAT(read.error.value_or("none"),
              HasSubstr("its length of 67108865 bytes exceeds 67108864"));
  EXPECT_THAT(read.readings, IsEmpty());
}

TEST(CounterColumnsDamage, RefusesFramesWithoutTheirSize) {
  const std::string two = FrameOf(FirstBlock().SerializeAsString()).substr(4);
  EXPECT_THAT(ReadAllColumns(MagicOfColumns() + Number(2 * two.size(), 4) + two + two)
                  .error.value_or("none"),
              HasSubstr("not a zstd frame with its size"));
  EXPECT_THAT(ReadAllColumns(MagicOfColumns() + Number(5, 4) + "hello").error.value_or("none"),
              HasSubstr("not a zstd frame with its size"));
}

TEST(CounterColumnsDamage, LimitsTheEntitiesOfAFile) {
  v1::CounterBlock block;
  v1::CounterColumnEntity entity;
  entity.set_kind("port");
  entity.set_node("n");
  entity.set_port("p");
  entity.add_metrics(0);
  for (int i = 0; i < 65'536; ++i) *block.add_entities() = entity;
  const std::string more = FrameOf(block.SerializeAsString());
  block.add_metrics("rx_bytes");
  std::string text = MagicOfColumns() + FrameOf(block.SerializeAsString());
  for (int i = 1; i < 16; ++i) text += more;
  EXPECT_EQ(ReadAllColumns(text + Number(0, 12)).error, std::nullopt) << "1,048,576 entities";
  EXPECT_THAT(ReadAllColumns(text + more).error.value_or("none"),
              HasSubstr("block 17 at byte " + std::to_string(text.size()) +
                        ": more than 1048576 entities"));
}

TEST(CounterColumnsDamage, ReportsReadErrors) {
  CounterColumnsReader reader(
      [](std::span<uint8_t>) -> Result<size_t> {
        return MakeError(ErrorCode::kUnavailable, "x: read error");
      },
      "x");
  CounterColumnsReader::Reading next;
  const Result<bool> read = reader.Next(next);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "x: read error");
  const auto missing = CounterColumnsReader::Open("/nonexistent/counters.columns");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rocescope
