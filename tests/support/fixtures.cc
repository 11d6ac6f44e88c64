// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/fixtures.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace rocescope::test {
namespace {

std::vector<uint8_t> ReadWhole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::filesystem::path FixtureFolder() {
  if (const char* folder = std::getenv("ROCESCOPE_FIXTURES")) return folder;
  return std::filesystem::path(ROCESCOPE_SOURCE_FOLDER) / ".." / "shared" / "fixtures";
}

std::optional<std::filesystem::path> Fixture(std::string_view name) {
  std::filesystem::path path = FixtureFolder() / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  return path;
}

std::filesystem::path SourceFile(std::string_view path) {
  return std::filesystem::path(ROCESCOPE_SOURCE_FOLDER) / path;
}

std::string ReadText(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = ReadWhole(path);
  return {bytes.begin(), bytes.end()};
}

std::vector<CapturedFrame> ReadPcap(const std::filesystem::path& path) {
  const std::vector<uint8_t> file = ReadWhole(path);
  const auto fail = [&path](const char* what) {
    throw std::runtime_error(path.string() + ": " + what);
  };
  if (file.size() < 24) fail("no pcap header");
  bool big_endian = file[0] == 0xa1;
  const auto u32 = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; ++i) value = value << 8 | file[at + (big_endian ? i : 3 - i)];
    return value;
  };
  const bool nanoseconds = u32(0) == 0xa1b23c4d;
  if (!nanoseconds && u32(0) != 0xa1b2c3d4) fail("no pcap magic");
  std::vector<CapturedFrame> frames;
  for (size_t at = 24; at < file.size();) {
    if (file.size() - at < 16 || file.size() - at - 16 < u32(at + 8)) fail("truncated record");
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at) + 16;
    const uint32_t size = u32(at + 8);
    frames.push_back({.time_ns = int64_t{u32(at)} * 1'000'000'000 +
                                 int64_t{u32(at + 4)} * (nanoseconds ? 1 : 1000),
                      .bytes = {begin, begin + size},
                      .original_length = u32(at + 12)});
    at += 16 + size;
  }
  return frames;
}

}  // namespace rocescope::test
