// SPDX-License-Identifier: BSD-3-Clause
// Publishes a copy of one thread's plain counters, which other threads may read at any time. The
// owner never waits, and readers never access the owner's working copy.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rocescope {

// A sequence lock over words (Boehm, Can seqlocks get along with programming language memory
// models?, MSPC 2012). It uses release stores and acquire loads instead of fences, because they are
// free on x86 and ThreadSanitizer understands them.
template <typename T>
class Published {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Called by the owner only.
  void Publish(const T& value) {
    std::array<uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof value);
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // Number of publications so far; it shows that the owner is making progress. Any thread.
  uint64_t count() const { return version_.load(std::memory_order_relaxed) / 2; }

  // Returns the last published value consistently. Retries while the owner is writing.
  T Read() const {
    std::array<uint64_t, kWords> words;
    while (true) {
      const uint64_t before = version_.load(std::memory_order_acquire);
      for (size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_acquire);
      if (before % 2 == 0 && version_.load(std::memory_order_relaxed) == before) break;
    }
    T value;
    std::memcpy(static_cast<void*>(&value), words.data(), sizeof value);
    return value;
  }

 private:
  static constexpr size_t kWords = (sizeof(T) + 7) / 8;

  alignas(64) std::atomic<uint64_t> version_ = 0;
  std::array<std::atomic<uint64_t>, kWords> words_{};
};

}  // namespace rocescope
