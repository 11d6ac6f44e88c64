// SPDX-License-Identifier: BSD-3-Clause
// Lock-free ring buffer between one pushing and one popping thread. Neither ever waits.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <optional>
#include <span>

namespace rocescope {

template <typename T, size_t kCapacity>
class SpscRing {
  static_assert(std::has_single_bit(kCapacity), "positions wrap with the type");

 public:
  // For the pushing thread: pushes as many of the first `values` as fit and returns their number.
  size_t Push(std::span<const T> values) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ + values.size() > kCapacity) {
      seen_head_ = head_.load(std::memory_order_acquire);
    }
    const size_t count = std::min(values.size(), kCapacity - (tail - seen_head_));
    for (size_t i = 0; i < count; ++i) slots_[(tail + i) % kCapacity] = values[i];
    tail_.store(tail + count, std::memory_order_release);
    return count;
  }
  bool TryPush(const T& value) { return Push({&value, 1}) == 1; }

  // For the popping thread: pops as many values as are available and fit, and returns their number.
  size_t Pop(std::span<T> values) {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (seen_tail_ - head < values.size()) seen_tail_ = tail_.load(std::memory_order_acquire);
    const size_t count = std::min(values.size(), seen_tail_ - head);
    for (size_t i = 0; i < count; ++i) values[i] = slots_[(head + i) % kCapacity];
    head_.store(head + count, std::memory_order_release);
    return count;
  }
  std::optional<T> TryPop() {
    T value;
    return Pop({&value, 1}) == 1 ? std::optional<T>(value) : std::nullopt;
  }

 private:
  static constexpr size_t kCacheLine = 64;

  std::array<T, kCapacity> slots_{};
  // Each side has its own cache line with its own position and its last view of the other position.
  alignas(kCacheLine) std::atomic<size_t> head_ = 0;  // popped so far
  size_t seen_tail_ = 0;
  alignas(kCacheLine) std::atomic<size_t> tail_ = 0;  // pushed so far
  size_t seen_head_ = 0;
};

}  // namespace rocescope
