// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/reader.h"

#include <gtest/gtest.h>

#include <array>

#include "dataplane/wire/writer.h"

namespace rocescope::wire {
namespace {

constexpr std::array<uint8_t, 18> kBytes = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09,
                                            0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12};

TEST(ByteReader, ReadsMostSignificantByteFirst) {
  ByteReader in(kBytes);
  EXPECT_EQ(in.U8(), 0x01u);
  EXPECT_EQ(in.U16(), 0x0203u);
  EXPECT_EQ(in.U24(), 0x040506u);
  EXPECT_EQ(in.U32(), 0x0708090au);
  EXPECT_EQ(in.U64(), 0x0b0c0d0e0f101112u);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
}

TEST(ByteReader, ReturnsZeroPastTheEndAndStaysFailed) {
  ByteReader in(std::span<const uint8_t>(kBytes).first(3));
  EXPECT_EQ(in.U32(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.U8(), 0u);  // three bytes are left, but the failed read has consumed them
  EXPECT_FALSE(in.ok());
}

TEST(ByteReader, SkipAndBytesStopAtTheEnd) {
  ByteReader in(std::span<const uint8_t>(kBytes).first(4));
  in.Skip(1);
  EXPECT_EQ(in.Bytes(2).front(), 0x02);
  EXPECT_EQ(in.offset(), 3u);
  EXPECT_TRUE(in.Bytes(2).empty());
  EXPECT_FALSE(in.ok());
}

TEST(ByteWriter, WritesMostSignificantByteFirst) {
  std::array<uint8_t, 18> bytes{};
  ByteWriter out(bytes);
  out.U8(0x01);
  out.U16(0x0203);
  out.U24(0x040506);
  out.U32(0x0708090a);
  out.U64(0x0b0c0d0e0f101112);
  EXPECT_TRUE(out.ok());
  EXPECT_EQ(bytes, kBytes);
}

TEST(ByteWriter, DiscardsWritesPastTheEnd) {
  std::array<uint8_t, 3> bytes = {7, 7, 7};
  ByteWriter out(bytes);
  out.U32(0x01020304);
  EXPECT_FALSE(out.ok());
  EXPECT_EQ(bytes, (std::array<uint8_t, 3>{7, 7, 7}));
}

TEST(ByteWriter, CopiesAndClears) {
  std::array<uint8_t, 4> bytes = {7, 7, 7, 7};
  ByteWriter out(bytes);
  out.Bytes(std::span(kBytes).first(2));
  out.Zeros(1);
  EXPECT_EQ(bytes, (std::array<uint8_t, 4>{1, 2, 0, 7}));
  EXPECT_EQ(out.offset(), 3u);
}

}  // namespace
}  // namespace rocescope::wire
