// SPDX-License-Identifier: BSD-3-Clause
// A ring between one thread that pushes and one that pops: no locks, neither ever waits.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <optional>

namespace rocescope {

template <typename T, size_t kCapacity>
class SpscRing {
  static_assert(std::has_single_bit(kCapacity), "positions wrap with the type");

 public:
  // By the pushing thread; false if there is no room.
  bool TryPush(T value) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return false;
    slots_[tail % kCapacity] = value;
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // By the popping thread.
  std::optional<T> TryPop() {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (head == tail_.load(std::memory_order_acquire)) return std::nullopt;
    T value = slots_[head % kCapacity];
    head_.store(head + 1, std::memory_order_release);
    return value;
  }

 private:
  static constexpr size_t kCacheLine = 64;

  std::array<T, kCapacity> slots_{};
  alignas(kCacheLine) std::atomic<size_t> head_ = 0;  // popped so far
  alignas(kCacheLine) std::atomic<size_t> tail_ = 0;  // pushed so far
};

}  // namespace rocescope
