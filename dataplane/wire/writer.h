// SPDX-License-Identifier: BSD-3-Clause
// The counterpart of reader.h, for the simulator, the packet generator and tests. A write past the
// end is discarded and clears ok().
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rocescope::wire {

class ByteWriter {
 public:
  constexpr explicit ByteWriter(std::span<uint8_t> bytes) : bytes_(bytes) {}

  constexpr bool ok() const { return ok_; }
  constexpr size_t offset() const { return offset_; }

  // Network byte order.
  constexpr void U8(uint8_t value) { Store(value, 1); }
  constexpr void U16(uint16_t value) { Store(value, 2); }
  constexpr void U24(uint32_t value) { Store(value, 3); }
  constexpr void U32(uint32_t value) { Store(value, 4); }
  constexpr void U64(uint64_t value) { Store(value, 8); }
  // Overwrites the value at `offset`, for a length that becomes known only after the data is
  // written.
  constexpr void PatchU32(size_t offset, uint32_t value) {
    if (offset + 4 > offset_) return;
    for (size_t i = 0; i < 4; ++i) {
      bytes_[offset + 3 - i] = static_cast<uint8_t>(value >> (8 * i));
    }
  }
  constexpr void Bytes(std::span<const uint8_t> source) {
    if (!Take(source.size())) return;
    std::copy(source.begin(), source.end(), bytes_.begin() + (offset_ - source.size()));
  }
  constexpr void Zeros(size_t count) {
    if (!Take(count)) return;
    std::fill_n(bytes_.begin() + (offset_ - count), count, uint8_t{0});
  }

 private:
  constexpr bool Take(size_t count) {
    if (bytes_.size() - offset_ < count) {
      offset_ = bytes_.size();
      ok_ = false;
      return false;
    }
    offset_ += count;
    return true;
  }
  constexpr void Store(uint64_t value, size_t width) {
    if (!Take(width)) return;
    for (size_t i = 0; i < width; ++i) {
      bytes_[offset_ - 1 - i] = static_cast<uint8_t>(value >> (8 * i));
    }
  }

  std::span<uint8_t> bytes_;
  size_t offset_ = 0;
  bool ok_ = true;
};

// Number of bytes that `Write(writer, Header{})` takes, computed at compile time. The static_assert
// of each header compares it with kSize.
template <typename Header>
constexpr size_t EncodedSize() {
  std::array<uint8_t, 512> scratch{};
  ByteWriter writer(scratch);
  Write(writer, Header{});
  return writer.ok() ? writer.offset() : 0;
}

}  // namespace rocescope::wire
