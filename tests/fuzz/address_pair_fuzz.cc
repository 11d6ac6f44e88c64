// SPDX-License-Identifier: BSD-3-Clause
// The address pair that spreads frames, against the decoder's. The input is that of decode_fuzz.
#include <span>
#include <vector>

#include "dataplane/decode/address_pair.h"
#include "dataplane/decode/decode.h"
#include "tests/fuzz/link_types.h"
#include "tests/fuzz/require.h"
#include "tests/support/decode_difference.h"

namespace rocescope {
namespace {

// Returns true for RoCE.
bool Compare(const RawFrame& raw, uint64_t hash) {
  Require(hash == AddressPairHashGenerally(raw), "the short cuts agree with the walk");
  ErspanMark mark;
  MirrorInfo mirror;
  Require(hash == AddressPairHash(raw, mark, mirror), "the hash beside the mirror's header");
  DecodedFrame frame{};
  const DropReason reason = DecodeFrame(raw, frame);
  const MirrorKind kind = frame.mirror.kind;
  const bool erspan = kind >= MirrorKind::kErspan1 && kind <= MirrorKind::kErspan3;
  if (erspan && reason != DropReason::kTruncatedMirror && reason != DropReason::kBadMirror) {
    Require(test::SameMirror(frame.mirror, FindMirror(raw)), "the decoder's mirror header");
    Require(mark.who != 0 ? test::SameMirror(frame.mirror, mark)
                          : test::SameMirror(frame.mirror, mirror),
            "the decoder's mirror header beside the hash");
  }
  if (reason != DropReason::kNone || frame.kind != FrameKind::kRoce) return false;
  Require(hash == AddressPairHash(frame.source, frame.destination), "the decoder's addresses");
  return true;
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  RawFrame raw = {.bytes = bytes,
                  .original_length = static_cast<uint32_t>(bytes.size()),
                  .link_type = kLinkTypes[data[0] & 7]};
  const uint64_t whole = AddressPairHash(raw);
  const bool decoded = Compare(raw, whole);

  // In memory of its own, so that a read past the end shows; a cut copy meets the whole ones.
  const std::vector<uint8_t> part(bytes.begin(), bytes.end() - static_cast<long>(size / 4));
  raw.bytes = part;
  const uint64_t cut = AddressPairHash(raw);
  if (Compare(raw, cut) && decoded) Require(cut == whole, "a cut copy has the same pair");
  return 0;
}
