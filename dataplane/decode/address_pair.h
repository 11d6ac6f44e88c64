// SPDX-License-Identifier: BSD-3-Clause
// Which packets belong together, before any of them is decoded: both directions of a host pair, by
// whatever switch and tunnel their copies came. Frames are spread over lcores by it.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "dataplane/decode/erspan_mark.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// The value for two hosts, `pair` being the sum of their addresses' folds. Other factors than those
// of HashPair, so that the packets which are sighted lie evenly on all lcores.
constexpr uint64_t AddressPairHash(uint64_t pair) {
  return MultiplyAndFold(pair ^ 0xd6e8feb86659fd93ull, 0x9e3779b97f4a7c15ull);
}
constexpr uint64_t AddressPairHash(const IpAddress& a, const IpAddress& b) {
  return AddressPairHash(FoldAddress(a) + FoldAddress(b));
}

// That of the addresses of the innermost packet. For a frame that DecodeFrame takes for RoCE they
// are those that it finds; all fragments of a packet have one value. A walk that comes to its end
// has the value of the last addresses it saw, or that of none. Never reads outside raw.bytes.
uint64_t AddressPairHash(const RawFrame& raw);

// The same for the core that receives a mirror's packets, and what the outermost ERSPAN header
// says, whatever is inside: in `mark`, or where it is no plain one (plain.h) in `mirror`, or there
// is none.
uint64_t AddressPairHash(const RawFrame& raw, ErspanMark& mark, MirrorInfo& mirror);

// What that header says, plain or not; its kind is kNone if there is none.
MirrorInfo FindMirror(const RawFrame& raw);

// The same without the short cuts, for tests that hold the two together.
uint64_t AddressPairHashGenerally(const RawFrame& raw);

// The share, of `shares`, that a hash belongs to: less than `shares`.
constexpr uint32_t ShareOf(uint64_t hash, uint32_t shares) {
  return static_cast<uint32_t>((hash >> 32) * shares >> 32);
}

}  // namespace rocescope
