// SPDX-License-Identifier: BSD-3-Clause
// The one integer hash of the product. Observations are chosen by it on every box of a fabric, so its
// values are part of the wire contract between boxes and must never change.
#pragma once

#include <cstdint>

#include "base/address.h"

namespace rocescope {

// Finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014): every input bit reaches every output bit.
constexpr uint64_t Mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  x ^= x >> 31;
  return x;
}

constexpr uint64_t HashCombine(uint64_t seed, uint64_t value) {
  return Mix64(seed + 0x9e3779b97f4a7c15ull + value);
}

// The product's two halves: every bit of either factor reaches the result, for one instruction.
constexpr uint64_t MultiplyAndFold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Worked out for every packet, so as cheap as it can be while addresses made to collide are hard to
// find: the halves are added for those that a zero factor would make equal.
constexpr uint64_t FoldAddress(const IpAddress& a) {
  return MultiplyAndFold(a.high ^ 0x9e3779b97f4a7c15ull, a.low ^ 0xd6e8feb86659fd93ull) + a.high +
         a.low;
}

// `pair` is the sum of both addresses' folds, so the same for (a, b) and (b, a): both directions of
// a host pair meet in one value.
constexpr uint64_t HashPair(uint64_t pair, uint64_t value) {
  return Mix64(pair + value * 0x9e3779b97f4a7c15ull);
}

constexpr uint64_t HashUnorderedPair(const IpAddress& a, const IpAddress& b, uint64_t value) {
  return HashPair(FoldAddress(a) + FoldAddress(b), value);
}

}  // namespace rocescope
