// SPDX-License-Identifier: BSD-3-Clause
// Compares the address pair hash that spreads frames with the decoder's addresses. The input format
// is that of decode_fuzz.
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
  Require(hash == AddressPairHashGenerally(raw), "the fast path agrees with the general path");
  ErspanMark mark;
  MirrorInfo mirror;
  Require(hash == AddressPairHash(raw, mark, mirror),
          "the hash agrees if the mirror header is returned too");
  DecodedFrame frame{};
  const DropReason reason = DecodeFrame(raw, frame);
  const MirrorKind kind = frame.mirror.kind;
  const bool erspan = kind >= MirrorKind::kErspan1 && kind <= MirrorKind::kErspan3;
  if (erspan && reason != DropReason::kTruncatedMirror && reason != DropReason::kBadMirror) {
    Require(test::SameMirror(frame.mirror, FindMirror(raw)),
            "the mirror header agrees with the decoder");
    Require(mark.who != 0 ? test::SameMirror(frame.mirror, mark)
                          : test::SameMirror(frame.mirror, mirror),
            "the mirror header of the hash function agrees with the decoder");
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

  // Uses separate memory, so that AddressSanitizer detects reads past the end. Truncated copies are
  // compared with the complete frame.
  const std::vector<uint8_t> part(bytes.begin(), bytes.end() - static_cast<long>(size / 4));
  raw.bytes = part;
  const uint64_t cut = AddressPairHash(raw);
  if (Compare(raw, cut) && decoded)
    Require(cut == whole, "a truncated copy has the same address pair");
  return 0;
}
