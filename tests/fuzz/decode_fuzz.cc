// SPDX-License-Identifier: BSD-3-Clause
// The general frame decoder. The first byte of the input selects the link type (low three bits) and
// by how much the original length exceeds the captured length. The rest is the frame.
#include <cstdio>
#include <span>

#include "dataplane/decode/decode.h"
#include "dataplane/decode/plain.h"
#include "tests/fuzz/link_types.h"
#include "tests/fuzz/require.h"
#include "tests/support/decode_difference.h"

namespace rocescope {
namespace {

bool IsInside(std::span<const uint8_t> part, std::span<const uint8_t> whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void RequireSane(const RawFrame& raw, const DecodedFrame& frame) {
  if (frame.kind == FrameKind::kPause) {
    Require(CheckIcrc(frame) == IcrcResult::kUnknown, "a pause frame has no iCRC");
    return;
  }
  if (IsTelemetry(frame.kind)) {
    Require(CheckIcrc(frame) == IcrcResult::kUnknown, "telemetry has no iCRC");
    Require(IsInside(frame.telemetry, raw.bytes), "telemetry inside the input");
    return;
  }
  const wire::OpcodeInfo& opcode = wire::InfoOf(frame.bth.opcode);
  Require(!opcode.name.empty(), "a decoded opcode has a name");
  Require(frame.ip_version == 4 || frame.ip_version == 6, "IP version");
  Require(IsInside(frame.payload, raw.bytes), "payload inside the input");
  Require(IsInside(frame.network_packet, raw.bytes), "packet inside the input");
  Require(frame.payload.size() <= frame.payload_length,
          "the payload does not exceed the length in the headers");
  Require(frame.cut || frame.payload_length < frame.wire_length, "payload within the frame");
  Require(!frame.cut || frame.network_packet.empty(), "a truncated packet is not complete");
  Require(frame.cut || frame.payload.size() == frame.payload_length,
          "the payload of a complete packet is complete");
  const bool whole = !frame.cut && !frame.network_packet.empty();
  Require((CheckIcrc(frame) == IcrcResult::kUnknown) == !whole,
          "the iCRC is checked exactly for complete packets");
  Require(frame.int_stack.empty() || (!whole && IsInside(frame.int_stack, raw.bytes)),
          "INT is inside the input and excludes an iCRC check");
  Require((opcode.headers & wire::kHasReth) != 0 || !frame.Has(kPartReth), "RETH by opcode");
  if (const auto time = TimeOf(frame.mirror); frame.mirror.kind == MirrorKind::kErspan3 && time) {
    const Timestamp arrival = FromNanoseconds(1'700'000'000'000'000'000);
    const int64_t away = ToNanoseconds(Unwrap(*time, arrival)) - ToNanoseconds(arrival);
    Require(time->wrap == 0 || (away <= time->wrap / 2 && away >= -time->wrap / 2),
            "an unwrapped timestamp is the nearest one");
  }
}

void RequireNone(const char* difference, const char* what) {
  if (difference != nullptr) std::fprintf(stderr, "differs in: %s\n", difference);
  Require(difference == nullptr, what);
}

// Frames that the fast path decodes must decode to the same result on the general path.
void RequireAgreement(const RawFrame& raw, const DecodedFrame& frame, DropReason reason) {
  RocePacket packet{};
  ErspanMark mark;
  const bool decoded = reason == DropReason::kNone && frame.kind == FrameKind::kRoce;
  if (decoded)
    RequireNone(test::PacketContradiction(frame), "the packet fields agree with the headers");
  if (!ReadPlainRoce(raw, packet, mark)) return;
  Require(decoded, "a plain frame is RoCE");
  RequireNone(test::PacketDifference(frame, packet), "both paths agree on the packet");
  Require(test::SameMirror(frame.mirror, mark), "both paths agree on the mirror header");
}

DropReason Decode(const RawFrame& raw, DecodedFrame& frame) {
  const DropReason reason = DecodeFrame(raw, frame);
  Require(reason <= DropReason::kNone, "the drop reason is in range");
  if (reason == DropReason::kNone) RequireSane(raw, frame);
  RequireAgreement(raw, frame, reason);
  return reason;
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  RawFrame raw = {.bytes = bytes,
                  .original_length = static_cast<uint32_t>(bytes.size() + (data[0] >> 3) * 64),
                  .link_type = kLinkTypes[data[0] & 7]};
  DecodedFrame whole{};
  const DropReason reason = Decode(raw, whole);

  // A shorter capture of the same frame agrees with the longer one in the fields that both contain.
  raw.bytes = bytes.first(bytes.size() - bytes.size() / 4);
  DecodedFrame cut{};
  if (Decode(raw, cut) == DropReason::kNone && reason == DropReason::kNone) {
    Require(cut.kind == whole.kind, "the kind of a truncated frame agrees");
    Require(cut.wire_length == whole.wire_length, "the wire length of a truncated frame agrees");
    if (cut.kind == FrameKind::kRoce) {
      Require(cut.bth.psn == whole.bth.psn, "the PSN of a truncated frame agrees");
      Require(cut.payload_length == whole.payload_length,
              "the payload length of a truncated frame agrees");
      Require((cut.parts & ~whole.parts) == 0, "a truncated frame has no additional parts");
    }
  }
  return 0;
}
