// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are the same on every machine. The standard specifies the output of engines
// but not of distributions, so the distributions are implemented here.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace rocescope::perf {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  uint64_t Next() { return engine_(); }

  // 0 to bound-1, for a bound of 1 to 2^32-1. The bias is below 2^-32 * bound.
  uint32_t Below(uint32_t bound) {
    return static_cast<uint32_t>((engine_() >> 32) * uint64_t{bound} >> 32);
  }

  // [0, 1) in steps of 2^-53, which a double represents exactly.
  double Unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

  bool Chance(double probability) { return Unit() < probability; }

 private:
  std::mt19937_64 engine_;
};

// An index i from 0 to count-1 with probability proportional to 1 / (i+1)^exponent.
class Zipf {
 public:
  Zipf(size_t count, double exponent) : cumulative_(count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      sum += 1.0 / std::pow(static_cast<double>(i + 1), exponent);
      cumulative_[i] = sum;
    }
  }

  size_t Draw(Random& random) const {
    const double point = random.Unit() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, point);
    return static_cast<size_t>(found - cumulative_.begin());
  }

 private:
  std::vector<double> cumulative_;
};

}  // namespace rocescope::perf
