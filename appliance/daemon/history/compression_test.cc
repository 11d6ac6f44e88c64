// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/compression.h"

#include <gmock/gmock.h>

namespace rocescope {
namespace {

using testing::HasSubstr;

constexpr size_t kMost = 1 << 20;

std::string TextOf(size_t size) {
  std::string text;
  for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i * i);
  return text;
}

TEST(Compression, ContentIsRestored) {
  for (const std::string& text : {std::string(), std::string("a"), TextOf(100'000)}) {
    const std::string frame = Compressor().Compress(text);
    const auto content = Decompressor().Decompress(frame, kMost);
    ASSERT_TRUE(content) << content.error().message;
    EXPECT_EQ(*content, text);
  }
}

TEST(Compression, EachDamagedByteIsAnError) {
  const std::string text = TextOf(300);
  const std::string frame = Compressor().Compress(text);
  Decompressor decompressor;
  for (size_t i = 0; i < frame.size(); ++i) {
    EXPECT_FALSE(decompressor.Decompress(frame.substr(0, i), kMost)) << i;
    std::string changed = frame;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    const auto content = decompressor.Decompress(changed, kMost);
    // zstd ignores a reserved bit.
    if (content) {
      EXPECT_EQ(*content, text) << i;
    }
  }
  EXPECT_FALSE(decompressor.Decompress(frame + "x", kMost));
  EXPECT_FALSE(decompressor.Decompress(frame + frame, kMost));
  EXPECT_TRUE(decompressor.Decompress(frame, kMost)) << "errors leave no state";
}

TEST(Compression, LargeContentIsRefusedBeforeItIsAllocated) {
  const std::string frame = Compressor().Compress(TextOf(1000));
  const auto content = Decompressor().Decompress(frame, 999);
  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message, HasSubstr("more than 999 bytes"));
  // A header of a frame with a checksum that claims 2^60 bytes.
  const std::string header("\x28\xb5\x2f\xfd\xe4\0\0\0\0\0\0\0\x10", 13);
  EXPECT_FALSE(Decompressor().Decompress(header + std::string(20, '\0'), kMost));
}

}  // namespace
}  // namespace rocescope
