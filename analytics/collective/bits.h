// SPDX-License-Identifier: BSD-3-Clause
// A bit set that records activity: one bit per slot of a common time line. It is small enough for
// every queue pair and fast to compare.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace rocescope {

class Bits {
 public:
  static constexpr size_t kCount = 2048;

  void Set(size_t i) { words_[i / 64] |= uint64_t{1} << (i % 64); }
  // Clears the bits [begin, end), at most kCount.
  void Reset(size_t begin, size_t end) {
    while (begin < end) {
      const size_t next = std::min(end, (begin / 64 + 1) * 64);
      words_[begin / 64] &= ~(~uint64_t{0} >> (64 - (next - begin)) << (begin % 64));
      begin = next;
    }
  }
  bool Test(size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void Clear() { words_ = {}; }

  Bits& operator|=(const Bits& other) {
    for (size_t i = 0; i < kWords; ++i) words_[i] |= other.words_[i];
    return *this;
  }

  size_t Count() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
    return count;
  }
  // Returns the number of set bits among the first `end` bits.
  size_t CountBefore(size_t end) const {
    size_t count = 0;
    for (size_t i = 0; i < end / 64; ++i) count += static_cast<size_t>(std::popcount(words_[i]));
    if (end % 64 != 0) {
      const uint64_t mask = (uint64_t{1} << (end % 64)) - 1;
      count += static_cast<size_t>(std::popcount(words_[end / 64] & mask));
    }
    return count;
  }
  bool IsEmpty() const { return Count() == 0; }

  size_t CountCommon(const Bits& other) const {
    size_t count = 0;
    for (size_t i = 0; i < kWords; ++i) {
      count += static_cast<size_t>(std::popcount(words_[i] & other.words_[i]));
    }
    return count;
  }

  // Returns the number of set bits for which the bit `lag` positions later is also set.
  size_t CountRepeated(size_t lag) const {
    const size_t words = lag / 64;
    const size_t rest = lag % 64;
    size_t count = 0;
    for (size_t i = 0; i + words < kWords; ++i) {
      uint64_t later = words_[i + words] >> rest;
      if (rest != 0 && i + words + 1 < kWords) later |= words_[i + words + 1] << (64 - rest);
      count += static_cast<size_t>(std::popcount(words_[i] & later));
    }
    return count;
  }

  // Returns the set with `by` neighbours added on each side of each set bit.
  Bits Widened(size_t by) const {
    Bits result = *this;
    for (size_t done = 0; done < by; ++done) {
      Bits next = result;
      for (size_t i = 0; i < kWords; ++i) {
        next.words_[i] |= result.words_[i] << 1 | result.words_[i] >> 1;
        if (i > 0) next.words_[i] |= result.words_[i - 1] >> 63;
        if (i + 1 < kWords) next.words_[i] |= result.words_[i + 1] << 63;
      }
      result = next;
    }
    return result;
  }

  // Returns the first set bit at or after `i`, or kCount.
  size_t FirstFrom(size_t i) const {
    if (i >= kCount) return kCount;
    size_t word = i / 64;
    uint64_t bits = words_[word] & (~uint64_t{0} << (i % 64));
    while (bits == 0) {
      if (++word == kWords) return kCount;
      bits = words_[word];
    }
    return word * 64 + static_cast<size_t>(std::countr_zero(bits));
  }

  // Returns the last set bit before `i`, or kCount.
  size_t LastBefore(size_t i) const {
    for (size_t end = std::min(i, kCount); end > 0; end = (end - 1) / 64 * 64) {
      const size_t word = (end - 1) / 64;
      const uint64_t bits = words_[word] & ~uint64_t{0} >> (63 - (end - 1) % 64);
      if (bits != 0) return word * 64 + 63 - static_cast<size_t>(std::countl_zero(bits));
    }
    return kCount;
  }

  friend bool operator==(const Bits&, const Bits&) = default;

 private:
  friend class BitCounts;
  static constexpr size_t kWords = kCount / 64;
  std::array<uint64_t, kWords> words_{};
};

// A faster CountBefore for repeated queries.
class BitCounts {
 public:
  explicit BitCounts(const Bits& bits) : bits_(&bits) {
    for (size_t i = 0; i < Bits::kWords; ++i) {
      before_[i + 1] = static_cast<uint16_t>(before_[i] + std::popcount(bits.words_[i]));
    }
  }

  // The bits must not have changed since construction.
  size_t Before(size_t end) const {
    const size_t whole = before_[end / 64];
    if (end % 64 == 0) return whole;
    const uint64_t mask = (uint64_t{1} << (end % 64)) - 1;
    return whole + static_cast<size_t>(std::popcount(bits_->words_[end / 64] & mask));
  }

 private:
  const Bits* bits_;
  std::array<uint16_t, Bits::kWords + 1> before_{};  // number of bits set before each word
};

}  // namespace rocescope
