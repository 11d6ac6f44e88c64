// SPDX-License-Identifier: BSD-3-Clause
// Compares the file with the tests' own capture writer.
#include "sim/emit/pcap_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/pcap_writer.h"

namespace rocescope::sim {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Add(PcapFile& file, const test::CapturedFrame& frame) {
  std::copy(frame.bytes.begin(), frame.bytes.end(), file.Room().begin());
  file.Add(FromNanoseconds(frame.time_ns), frame.bytes.size(),
           frame.original_length != 0 ? frame.original_length
                                      : static_cast<uint32_t>(frame.bytes.size()));
}

TEST(PcapFile, StoresNanosecondsAndOriginalLengths) {
  const std::string path = ::testing::TempDir() + "pcap_file_test.pcap";
  std::vector<test::CapturedFrame> frames;
  for (uint32_t i = 0; i < 100; ++i) {  // more than the buffer holds
    frames.push_back({.time_ns = 1'700'000'000'000'000'001 + i * 700'000'000ll,
                      .bytes = Bytes(i * 600, static_cast<uint8_t>(i)),
                      .original_length = i % 2 == 0 ? 70'000u : 0u});
  }
  auto file = PcapFile::Open(path);
  ASSERT_TRUE(file);
  for (const test::CapturedFrame& frame : frames) Add(**file, frame);
  EXPECT_TRUE((*file)->Close());
  EXPECT_EQ(ReadFile(path), test::MakePcap({}, frames));
  EXPECT_EQ((*file)->frames(), 100u);
  std::filesystem::remove(path);
}

TEST(PcapFile, ReportsAFullDisk) {
  auto file = PcapFile::Open("/dev/full");
  ASSERT_TRUE(file);
  for (int i = 0; i < 100; ++i) Add(**file, {.bytes = Bytes(60'000)});
  const Status status = (*file)->Close();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(status.error().message, ::testing::HasSubstr("/dev/full: write failed"));
}

TEST(PcapFile, ReportsAFileThatCannotBeCreated) {
  const auto file = PcapFile::Open("/nowhere/mirror.pcap");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(file.error().message, ::testing::HasSubstr("/nowhere/mirror.pcap"));
}

}  // namespace
}  // namespace rocescope::sim
