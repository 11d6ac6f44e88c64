// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/tap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace rocescope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TapTest, ReadsNameAndFile) {
  const auto spec = ParseTapSpec("leaf1=/x/a=b.pcap");

  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->name, "leaf1");
  EXPECT_EQ(spec->path, "/x/a=b.pcap");
}

TEST(TapTest, RejectsMoreCapturesThanATapNumberCanHave) {
  const std::vector<std::string> paths(65'536, "a.pcap");
  const auto taps = MakeCaptureTaps(paths, {});
  ASSERT_FALSE(taps);
  EXPECT_EQ(taps.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(taps.error().message, HasSubstr("65536 captures given; the maximum is 65535"));
}

TEST(TapTest, RejectsIncompleteSpec) {
  for (const std::string_view text : {"", "leaf1", "=a.pcap", "leaf1="}) {
    EXPECT_FALSE(ParseTapSpec(text)) << text;
  }
}

TEST(TapTest, NamesTapAfterFile) {
  EXPECT_EQ(TapNameOf("/x/y/leaf1.pcap"), "leaf1");
  EXPECT_EQ(TapNameOf("leaf1.pcapng.zst"), "leaf1");
  EXPECT_EQ(TapNameOf("a/10.0.0.1.pcap.gz"), "10.0.0.1");
  EXPECT_EQ(TapNameOf("leaf1"), "leaf1");
  EXPECT_EQ(TapNameOf(".pcap"), ".pcap");
  EXPECT_EQ(TapNameOf("a/"), "a/");
  EXPECT_EQ(TapNameOf("-"), "stdin");
}

TEST(TapTest, MakesTapNamesUnique) {
  const std::vector<std::string> paths = {"a/x.pcap", "b/x.pcap", "c/x-2.pcap", "d/x.cap"};

  const auto table = MakeCaptureTaps(paths, {});

  ASSERT_TRUE(table);
  EXPECT_THAT(table->names, ElementsAre("x", "x-2", "x-2-2", "x-3"));
  EXPECT_EQ(table->files[3].tap, 3);
}

TEST(TapTest, ExplicitNameIsNotUsedForAFile) {
  const std::vector<std::string> paths = {"x.pcap"};
  const std::vector<TapSpec> named = {{.name = "x", .path = "y.pcap"}};

  const auto table = MakeCaptureTaps(paths, named);

  ASSERT_TRUE(table);
  EXPECT_THAT(table->names, ElementsAre("x-2", "x"));
}

TEST(TapTest, FilesGivenTheSameNameShareATap) {
  const std::vector<TapSpec> named = {{.name = "leaf1", .path = "a.pcap0"},
                                      {.name = "leaf2", .path = "b.pcap"},
                                      {.name = "leaf1", .path = "a.pcap1"}};

  const auto table = MakeCaptureTaps({}, named);

  ASSERT_TRUE(table);
  EXPECT_THAT(table->names, ElementsAre("leaf1", "leaf2"));
  EXPECT_EQ(table->files[2].tap, table->files[0].tap);
}

TEST(TapTest, RejectsTheSameFileUnderTwoPaths) {
  const std::string folder = ::testing::TempDir() + "rocescope_tap_" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  std::ofstream(folder + "/a.pcap") << "x";
  std::filesystem::create_symlink("a.pcap", folder + "/b.pcap");
  const std::vector<std::string> paths = {folder + "/a.pcap", folder + "/b.pcap"};
  const std::vector<std::string> spelt = {folder + "/a.pcap", folder + "/./a.pcap"};

  const auto linked = MakeCaptureTaps(paths, {});
  const auto detour = MakeCaptureTaps(spelt, {});
  std::filesystem::remove_all(folder);

  ASSERT_FALSE(linked);
  EXPECT_THAT(linked.error().message, HasSubstr("b.pcap is given twice"));
  EXPECT_FALSE(detour);
}

TEST(TapTest, RejectsDuplicateFileAndNoFile) {
  const std::vector<std::string> twice = {"-", "-"};
  const std::vector<std::string> once = {"a.pcap"};
  const std::vector<TapSpec> again = {{.name = "x", .path = "a.pcap"}};

  EXPECT_THAT(MakeCaptureTaps(twice, {}).error().message,
              HasSubstr("standard input is given twice"));
  EXPECT_FALSE(MakeCaptureTaps(once, again));
  EXPECT_FALSE(MakeCaptureTaps({}, {}));
}

}  // namespace
}  // namespace rocescope
