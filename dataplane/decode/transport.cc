// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/decode/transport.h"

#include <algorithm>

#include "dataplane/wire/mad.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/roce.h"

namespace rocescope {
namespace {

using wire::ByteReader;

// Parses the extended headers in wire order. The length on the wire grows by each header that the
// opcode has. A header's part bit is set only if the header was captured completely. Of a header
// that was cut, the captured fields are read and the others are zero.
class ExtendedHeaders {
 public:
  ExtendedHeaders(ByteReader& in, uint16_t present, DecodedFrame& frame)
      : in_(in), present_(present), frame_(frame) {}

  template <typename Header>
  void Take(wire::HeaderBit bit, PartBit part, Header& header) {
    if ((present_ & bit) == 0) return;
    wire_length_ += Header::kSize;
    if (in_.Has(Header::kSize)) [[likely]] {
      Read(in_, header);
      frame_.parts |= part;
    } else if (in_.remaining() > 0) {
      frame_.partial = part;
      frame_.partial_bytes = static_cast<uint8_t>(in_.remaining());
      uint8_t padded[Header::kSize] = {};
      std::copy_n(in_.Rest().begin(), in_.remaining(), padded);
      ByteReader whole(padded);
      Read(whole, header);
      in_.Skip(in_.remaining());
    }
  }

  size_t wire_length() const { return wire_length_; }

 private:
  ByteReader& in_;
  const uint16_t present_;
  DecodedFrame& frame_;
  size_t wire_length_ = 0;
};

void DecodeCm(DecodedFrame& frame) {
  ByteReader in(frame.payload);
  wire::MadHeader header;
  Read(in, header);
  if (in.ok() && header.management_class == wire::kMadClassCommunicationManagement &&
      wire::ReadCmMessage(header, in, frame.cm)) {
    frame.parts |= kPartCm;
  }
}

}  // namespace

DropReason DecodeTransport(std::span<const uint8_t> captured, size_t length, DecodedFrame& frame) {
  frame.kind = FrameKind::kRoce;
  frame.parts = 0;
  frame.partial_bytes = 0;
  ByteReader in(captured);
  Read(in, frame.bth);
  // The frame may be cut after a datagram that is too short.
  if (!in.ok()) return length < wire::Bth::kSize ? DropReason::kBadBth : DropReason::kTruncatedBth;
  if (frame.bth.transport_version != 0) return DropReason::kBadBth;
  frame.opcode = frame.bth.opcode;
  frame.destination_qpn = frame.bth.destination_qpn;
  frame.psn = frame.bth.psn;
  frame.ack_request = frame.bth.ack_request;
  const std::span<const uint8_t> behind_bth = in.Rest();
  const wire::OpcodeInfo& opcode = wire::InfoOf(frame.bth.opcode);
  if (opcode.name.empty()) return DropReason::kUnknownOpcode;

  ExtendedHeaders extended(in, opcode.headers, frame);
  if (opcode.headers != 0) {
    extended.Take(wire::kHasRdeth, kPartRdeth, frame.rdeth);
    extended.Take(wire::kHasDeth, kPartDeth, frame.deth);
    extended.Take(wire::kHasXrceth, kPartXrceth, frame.xrceth);
    extended.Take(wire::kHasReth, kPartReth, frame.reth);
    extended.Take(wire::kHasAtomicEth, kPartAtomicEth, frame.atomic);
    extended.Take(wire::kHasAeth, kPartAeth, frame.aeth);
    extended.Take(wire::kHasAtomicAckEth, kPartAtomicAckEth, frame.atomic_ack);
    extended.Take(wire::kHasImmDt, kPartImmDt, frame.immediate);
    extended.Take(wire::kHasIeth, kPartIeth, frame.ieth);
  }
  const size_t around =
      wire::Bth::kSize + extended.wire_length() + frame.bth.pad_count + wire::kIcrcSize;
  if (length < around) return DropReason::kBadBth;
  frame.payload_length = static_cast<uint32_t>(length - around);
  const std::span<const uint8_t> rest = in.Rest();
  frame.payload = rest.first(std::min<size_t>(rest.size(), frame.payload_length));
  frame.extended = behind_bth.data();
  frame.extended_bytes = static_cast<uint32_t>(
      std::min<size_t>(behind_bth.size(), extended.wire_length() + frame.payload_length));

  if (opcode.transport == wire::Transport::kUd && frame.bth.destination_qpn == kManagementQpn)
      [[unlikely]] {
    DecodeCm(frame);
  }
  return DropReason::kNone;
}

}  // namespace rocescope
