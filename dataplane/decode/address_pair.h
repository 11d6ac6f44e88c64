// SPDX-License-Identifier: BSD-3-Clause
// Hashes of the address pair of a frame's innermost packet, computed before decoding. Both
// directions of a host pair have the same hash, whichever switch and tunnel the copy came through.
// Frames are distributed over lcores by this hash.
#pragma once

#include <cstdint>

#include "base/hash.h"
#include "dataplane/decode/erspan_mark.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// Hash of two hosts; `pair` is the sum of FoldAddress of both addresses. The factors differ from
// those of HashPair, so that the packets chosen for observation are spread evenly over the lcores.
constexpr uint64_t AddressPairHash(uint64_t pair) {
  return MultiplyAndFold(pair ^ 0xd6e8feb86659fd93ull, 0x9e3779b97f4a7c15ull);
}
constexpr uint64_t AddressPairHash(const IpAddress& a, const IpAddress& b) {
  return AddressPairHash(FoldAddress(a) + FoldAddress(b));
}

// Hashes the addresses of the innermost packet. For frames that DecodeFrame recognises as RoCE
// these are the addresses in DecodedFrame. All fragments of a packet have the same hash. If parsing
// stops early, the hash is that of the last addresses found, or of no addresses. Never reads
// outside raw.bytes.
uint64_t AddressPairHash(const RawFrame& raw);

// Computes the same hash on the core that receives mirrored packets, and also returns the content
// of the outermost ERSPAN header: in `mark` if the frame is plain (plain.h), otherwise in `mirror`.
// Both are empty if there is no ERSPAN header.
uint64_t AddressPairHash(const RawFrame& raw, ErspanMark& mark, MirrorInfo& mirror);

// Parses the outermost mirror header. The kind is kNone if there is none.
MirrorInfo FindMirror(const RawFrame& raw);

// Computes the same hash without the fast path. Tests compare the two.
uint64_t AddressPairHashGenerally(const RawFrame& raw);

// Maps a hash to one of `shares` shares: 0 to shares - 1.
constexpr uint32_t ShareOf(uint64_t hash, uint32_t shares) {
  return static_cast<uint32_t>((hash >> 32) * shares >> 32);
}

}  // namespace rocescope
