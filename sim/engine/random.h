// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are identical on all platforms: xoshiro256** (Blackman and Vigna, 2018),
// seeded with SplitMix64. Each element of the fabric has its own stream, so that one more frame in
// one place does not change random choices elsewhere.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace rocescope::sim {

class Random {
 public:
  explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = Mix64(seed += 0x9e3779b97f4a7c15ull);
  }
  // The stream of one element, for example ("wred", 17).
  Random(uint64_t seed, std::string_view purpose, uint64_t number)
      : Random(HashCombine(HashCombine(seed, HashText(purpose)), number)) {}

  uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }
  // Returns a number from 0 to bound-1. The bias of bound * 2^-64 is negligible here.
  uint64_t Below(uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // in [0, 1)
  bool Chance(double probability) { return Uniform() < probability; }

 private:
  uint64_t state_[4];
};

}  // namespace rocescope::sim
