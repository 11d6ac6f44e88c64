// SPDX-License-Identifier: BSD-3-Clause
// Constants of counters.columns that writer and reader share. README.md describes the format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace rocescope::columns {

// The first byte is not ASCII, so that no text file begins with it. The last byte is the version.
inline constexpr std::string_view kMagic = "\x89ROCCOL\x01";

// A block begins with the length of its zstd frame in bytes, little-endian. The length 0 is the end
// mark, which the number of readings in the file follows.
inline constexpr size_t kLengthBytes = 4;
inline constexpr size_t kTotalBytes = 8;

// Limits of one block.
inline constexpr size_t kReadingsPerBlock = 65'536;
inline constexpr size_t kEntitiesPerBlock = 65'536;
inline constexpr size_t kLargestEntity = 1024;             // bytes of its message
inline constexpr size_t kLargestFrame = size_t{64} << 20;  // compressed
inline constexpr size_t kLargestBlock = size_t{64} << 20;  // decompressed
// Limits of one file.
inline constexpr size_t kMetrics = 256;
inline constexpr size_t kEntities = size_t{1} << 20;
inline constexpr size_t kValuesOfEntities = size_t{1} << 24;  // sum of their metrics
inline constexpr size_t kNameBytes = size_t{64} << 20;        // sum of the entities' names

constexpr uint64_t ToZigzag(uint64_t difference) {
  return difference << 1 ^ (difference >> 63 == 0 ? 0 : ~uint64_t{0});
}
constexpr uint64_t FromZigzag(uint64_t coded) { return coded >> 1 ^ (~(coded & 1) + 1); }

// Fields of CounterBlock, which is neither written nor read as a whole.
enum BlockField : int {
  kFieldMetrics = 1,
  kFieldEntities = 2,
  kFieldReadings = 3,
  kFieldNumbers = 4,
  kFieldArrivals = 5,
  kFieldDelays = 6,
  kFieldValues = 7,
};

template <size_t kBytes>
std::array<uint8_t, kBytes> LittleEndian(uint64_t value) {
  std::array<uint8_t, kBytes> bytes;
  for (size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
  return bytes;
}
inline uint64_t FromLittleEndian(std::span<const uint8_t> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes.size(); ++i) value |= uint64_t{bytes[i]} << 8 * i;
  return value;
}

}  // namespace rocescope::columns
