// SPDX-License-Identifier: BSD-3-Clause
// Hashes of rocescope. Every appliance of a fabric uses the integer hash to choose the packets to
// observe, so its values are a contract between appliances and must never change.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/address.h"

namespace rocescope {

// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014). Every input bit affects every output bit.
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

// XORs the two halves of the 128-bit product. Every bit of both factors affects the result, at the
// cost of one multiplication.
constexpr uint64_t MultiplyAndFold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Runs once per packet, so it must be cheap, and yet colliding addresses must be hard to construct.
// Adding the halves separates addresses for which a factor of zero would give equal products.
constexpr uint64_t FoldAddress(const IpAddress& a) {
  return MultiplyAndFold(a.high ^ 0x9e3779b97f4a7c15ull, a.low ^ 0xd6e8feb86659fd93ull) + a.high +
         a.low;
}

// `pair` is the sum of both addresses' folds. The sum is the same for (a, b) and (b, a), so both
// directions of a host pair have the same hash.
constexpr uint64_t HashPair(uint64_t pair, uint64_t value) {
  return Mix64(pair + value * 0x9e3779b97f4a7c15ull);
}

constexpr uint64_t HashUnorderedPair(const IpAddress& a, const IpAddress& b, uint64_t value) {
  return HashPair(FoldAddress(a) + FoldAddress(b), value);
}

// FNV-1a with 64 bits (draft-eastlake-fnv). Texts that collide are easy to construct.
constexpr uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace rocescope
