// SPDX-License-Identifier: BSD-3-Clause
// The only place where packet bytes are read. A read past the end returns zero and clears ok(), so
// that a header can be read field by field and checked once. A header of fixed size is read as a
// block: its length is checked once at run time, and the offsets of its fields at compile time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace rocescope::wire {

// Converts network byte order to host byte order.
template <typename T>
constexpr T LoadBigEndian(const uint8_t* from) {
  T value = 0;
  if (std::is_constant_evaluated()) {
    for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(uint64_t{value} << 8 | from[i]);
    return value;
  }
  std::memcpy(&value, from, sizeof(T));
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  }
  return value;
}

// The inverse of LoadBigEndian: a value in memory order, to compare with bytes without swapping
// them.
template <typename T>
constexpr T InMemoryOrder(T value) {
  static_assert(std::is_same_v<T, uint32_t> || std::is_same_v<T, uint64_t>);
  if constexpr (std::endian::native == std::endian::big) return value;
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  return __builtin_bswap32(value);
}

// A block of `Size` bytes that are known to be available.
template <size_t Size>
class Block {
 public:
  constexpr explicit Block(const uint8_t* data) : data_(data) {}

  template <size_t Offset>
  constexpr uint8_t U8() const {
    return Load<uint8_t, Offset>();
  }
  template <size_t Offset>
  constexpr uint16_t U16() const {
    return Load<uint16_t, Offset>();
  }
  template <size_t Offset>
  constexpr uint32_t U24() const {
    return uint32_t{Load<uint8_t, Offset>()} << 16 | Load<uint16_t, Offset + 1>();
  }
  template <size_t Offset>
  constexpr uint32_t U32() const {
    return Load<uint32_t, Offset>();
  }
  // Returns the value in memory order: see InMemoryOrder.
  template <size_t Offset>
  uint32_t Raw32() const {
    return Raw<uint32_t, Offset>();
  }
  template <size_t Offset>
  uint64_t Raw64() const {
    return Raw<uint64_t, Offset>();
  }
  template <size_t Offset>
  constexpr uint64_t U48() const {
    return uint64_t{Load<uint16_t, Offset>()} << 32 | Load<uint32_t, Offset + 2>();
  }
  template <size_t Offset>
  constexpr uint64_t U64() const {
    return Load<uint64_t, Offset>();
  }

 private:
  template <typename T, size_t Offset>
  constexpr T Load() const {
    static_assert(Offset + sizeof(T) <= Size);
    return LoadBigEndian<T>(data_ + Offset);
  }
  template <typename T, size_t Offset>
  T Raw() const {
    static_assert(Offset + sizeof(T) <= Size);
    T value;
    std::memcpy(&value, data_ + Offset, sizeof value);
    return value;
  }

  const uint8_t* data_;
};

inline constexpr uint8_t kZeroBytes[64] = {};

class ByteReader {
 public:
  constexpr explicit ByteReader(std::span<const uint8_t> bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()), begin_(bytes.data()) {}

  constexpr bool ok() const { return ok_; }
  constexpr size_t offset() const { return static_cast<size_t>(position_ - begin_); }
  constexpr size_t remaining() const { return static_cast<size_t>(end_ - position_); }
  constexpr bool Has(size_t count) const { return remaining() >= count; }
  constexpr std::span<const uint8_t> Rest() const { return {position_, remaining()}; }

  // Network byte order.
  constexpr uint8_t U8() { return Load<uint8_t>(); }
  constexpr uint16_t U16() { return Load<uint16_t>(); }
  constexpr uint32_t U24() {
    const uint32_t high = U8();
    return high << 16 | U16();
  }
  constexpr uint32_t U32() { return Load<uint32_t>(); }
  constexpr uint64_t U64() { return Load<uint64_t>(); }

  // Returns `count` bytes, or an empty span and clears ok().
  constexpr std::span<const uint8_t> Bytes(size_t count) {
    if (!Take(count)) return {};
    return {position_ - count, count};
  }
  constexpr void Skip(size_t count) { Take(count); }

  // Returns the next `Size` bytes, or zeros and clears ok().
  template <size_t Size>
  constexpr Block<Size> Take() {
    static_assert(Size <= sizeof(kZeroBytes));
    return Block<Size>(Take(Size) ? position_ - Size : kZeroBytes);
  }

 private:
  constexpr bool Take(size_t count) {
    if (remaining() < count) {
      position_ = end_;
      ok_ = false;
      return false;
    }
    position_ += count;
    return true;
  }

  template <typename T>
  constexpr T Load() {
    return Take(sizeof(T)) ? LoadBigEndian<T>(position_ - sizeof(T)) : T{0};
  }

  const uint8_t* position_;
  const uint8_t* end_;
  const uint8_t* begin_;
  bool ok_ = true;
};

}  // namespace rocescope::wire
