// SPDX-License-Identifier: BSD-3-Clause
// A large array of all-zero objects whose pages the kernel hands out only when they are touched:
// capacity costs address space, not memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

#include <sys/mman.h>

namespace rocescope {

template <typename T>
class ZeroedArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  // Throws std::bad_alloc when the address space is not to be had.
  explicit ZeroedArray(size_t count) : count_(count) {
    if (count == 0) return;
    void* memory = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<T*>(memory);
    // Scattered look-ups would cost a page fault and a TLB entry each; a kernel without large pages
    // says no, which changes nothing else.
    constexpr size_t kWorthLargePages = size_t{4} << 20;
    if (count * sizeof(T) >= kWorthLargePages) {
      madvise(memory, count * sizeof(T), MADV_HUGEPAGE);
    }
  }
  ~ZeroedArray() {
    if (data_ != nullptr) munmap(data_, count_ * sizeof(T));
  }
  ZeroedArray(ZeroedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  ZeroedArray& operator=(ZeroedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }

  // Has the kernel hand out all pages now, as zeroed as before: later ones cost up to milliseconds.
  void Touch() {
    constexpr size_t kPage = 4096;
    if (count_ == 0 || madvise(data_, count_ * sizeof(T), MADV_POPULATE_WRITE) == 0) return;
    auto* bytes = reinterpret_cast<volatile char*>(data_);  // before Linux 5.14
    for (size_t at = 0; at < count_ * sizeof(T); at += kPage) bytes[at] = bytes[at];
  }

  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace rocescope
