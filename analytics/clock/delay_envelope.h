// SPDX-License-Identifier: BSD-3-Clause
// The three smallest delays from one clock to another in each of a few time windows, measured with
// the clocks' own timestamps. The third smallest is used.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace rocescope {

class DelayEnvelope {
 public:
  static constexpr size_t kWindows = 8;
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

  void Add(size_t window, int64_t ns) {
    Least& least = windows_[window];
    ++packets_;
    if (ns >= least.back()) return;
    least.back() = ns;
    std::ranges::sort(least);
  }
  // Inserts an empty window at the front; the last window is merged into the one before it.
  void Shift() {
    const Least last = windows_.back();
    std::ranges::rotate(windows_, windows_.end() - 1);
    windows_.front() = kEmpty;
    windows_.back() = Merged(windows_.back(), last);
  }
  // Merges each pair of neighbouring windows.
  void Halve() {
    for (size_t i = 0; i < kWindows; ++i) {
      windows_[i] = 2 * i + 1 < kWindows ? Merged(windows_[2 * i], windows_[2 * i + 1]) : kEmpty;
    }
  }

  // Returns the third smallest delay of the window, because up to two packets may have been
  // mismatched. kNone: too few packets.
  int64_t Of(size_t window) const { return windows_[window].back(); }
  uint64_t packets() const { return packets_; }

 private:
  static constexpr size_t kKept = 3;
  using Least = std::array<int64_t, kKept>;  // ascending
  static constexpr Least kEmpty = {kNone, kNone, kNone};

  static Least Merged(const Least& a, const Least& b) {
    std::array<int64_t, 2 * kKept> all;
    std::ranges::copy(a, all.begin());
    std::ranges::copy(b, all.begin() + kKept);
    std::ranges::sort(all);
    return {all[0], all[1], all[2]};
  }

  std::array<Least, kWindows> windows_ = {kEmpty, kEmpty, kEmpty, kEmpty,
                                          kEmpty, kEmpty, kEmpty, kEmpty};
  uint64_t packets_ = 0;
};

}  // namespace rocescope
