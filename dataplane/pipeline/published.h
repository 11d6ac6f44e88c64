// SPDX-License-Identifier: BSD-3-Clause
// A copy of one thread's plain counters that others may read at any time: the owner never waits and
// readers never touch what the owner counts in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rocescope {

// A sequence lock over words (Boehm, Can seqlocks get along with programming language memory
// models?, MSPC 2012), with release stores and acquire loads in place of fences: free on x86, and
// ThreadSanitizer understands them.
template <typename T>
class Published {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // By the owner alone.
  void Publish(const T& value) {
    std::array<uint64_t, kWords> words{};
    std::memcpy(words.data(), &value, sizeof value);
    const uint64_t version = version_.load(std::memory_order_relaxed);
    version_.store(version + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
    version_.store(version + 2, std::memory_order_release);
  }

  // How often, so far: that the owner goes on. Any thread.
  uint64_t count() const { return version_.load(std::memory_order_relaxed) / 2; }

  // What was published last, as a whole. Tries again while the owner writes.
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
