// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/tar_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rocescope {
namespace {

using testing::Each;

// tests/cli/support_bundle_test.py reads an archive with another implementation.
TEST(TarFileTest, HeadersAreThoseOfUstar) {
  const std::vector<TarFile> files = {{.name = "a/b", .content = "hello"}};
  // 2026-01-02T03:04:05Z
  const auto archive = MakeTar(files, FromNanoseconds(int64_t{1'767'323'045} * 1'000'000'000));
  ASSERT_TRUE(archive);
  ASSERT_EQ(archive->size(), 512u + 512 + 1024);
  EXPECT_EQ(archive->substr(0, 4), std::string("a/b\0", 4));
  EXPECT_EQ(archive->substr(100, 8), std::string("0000600\0", 8));
  EXPECT_EQ(archive->substr(124, 12), std::string("00000000005\0", 12));
  EXPECT_EQ(archive->substr(136, 12), std::string("15125632645\0", 12));  // octal
  EXPECT_EQ((*archive)[156], '0');
  EXPECT_EQ(archive->substr(257, 8), std::string("ustar\0"
                                                 "00",
                                                 8));
  EXPECT_EQ(archive->substr(512, 6), std::string("hello\0", 6));
  EXPECT_THAT(archive->substr(1024), Each('\0'));
}

TEST(TarFileTest, ContentOfWholeBlocksHasNoPadding) {
  const std::vector<TarFile> files = {{.name = "a", .content = std::string(512, 'x')},
                                      {.name = "b", .content = ""}};
  const auto archive = MakeTar(files, Timestamp());
  ASSERT_TRUE(archive);
  EXPECT_EQ(archive->size(), 3u * 512 + 1024);
  EXPECT_EQ((*archive)[1024], 'b');
}

TEST(TarFileTest, LongNamesAreRefused) {
  for (const size_t length : {size_t{0}, size_t{101}}) {
    const std::vector<TarFile> files = {{.name = std::string(length, 'n'), .content = ""}};
    EXPECT_FALSE(MakeTar(files, Timestamp()));
  }
  const std::vector<TarFile> files = {{.name = std::string(100, 'n'), .content = ""}};
  EXPECT_TRUE(MakeTar(files, Timestamp()));
}

}  // namespace
}  // namespace rocescope
