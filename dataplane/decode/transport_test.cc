// SPDX-License-Identifier: BSD-3-Clause
// The headers after the BTH.
#include "dataplane/decode/transport.h"

#include <gtest/gtest.h>

#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Decode;
using test::DropReasonOf;
using test::RoceFrame;

TEST(Transport, ReadsAWriteWithImmediate) {
  const DecodedFrame frame =
      Decode(RoceFrame()
                 .Bth({.opcode = 0x0b})
                 .Reth({.virtual_address = 0x7f0000001000, .rkey = 0x1234, .dma_length = 5})
                 .ImmDt({.data = 0xcafe})
                 .Payload(5)
                 .Build());
  EXPECT_EQ(frame.parts, kPartReth | kPartImmDt);
  EXPECT_EQ(frame.reth.virtual_address, 0x7f0000001000u);
  EXPECT_EQ(frame.reth.rkey, 0x1234u);
  EXPECT_EQ(frame.reth.dma_length, 5u);
  EXPECT_EQ(frame.immediate.data, 0xcafeu);
  EXPECT_EQ(frame.bth.pad_count, 3);
  EXPECT_EQ(frame.payload_length, 5u);
}

TEST(Transport, ReadsAnAcknowledge) {
  const DecodedFrame frame =
      Decode(RoceFrame().Bth({.opcode = 0x11}).Aeth({.syndrome = 0x60, .msn = 9}).Build());
  EXPECT_EQ(frame.parts, kPartAeth);
  EXPECT_EQ(frame.aeth.syndrome, 0x60);
  EXPECT_EQ(frame.aeth.msn, 9u);
  EXPECT_EQ(frame.payload_length, 0u);
}

TEST(Transport, ReadsAtomics) {
  const DecodedFrame request =
      Decode(RoceFrame()
                 .Bth({.opcode = 0x13})
                 .AtomicEth({.virtual_address = 0x88, .rkey = 7, .swap_or_add = 1, .compare = 2})
                 .Build());
  EXPECT_EQ(request.parts, kPartAtomicEth);
  EXPECT_EQ(request.atomic.virtual_address, 0x88u);
  EXPECT_EQ(request.atomic.swap_or_add, 1u);
  EXPECT_EQ(request.atomic.compare, 2u);
  const DecodedFrame reply = Decode(RoceFrame()
                                        .Bth({.opcode = 0x12})
                                        .Aeth({.msn = 3})
                                        .AtomicAckEth({.original_data = 77})
                                        .Build());
  EXPECT_EQ(reply.parts, kPartAeth | kPartAtomicAckEth);
  EXPECT_EQ(reply.aeth.msn, 3u);
  EXPECT_EQ(reply.atomic_ack.original_data, 77u);
}

TEST(Transport, ReadsSendWithInvalidate) {
  const DecodedFrame frame =
      Decode(RoceFrame().Bth({.opcode = 0x17}).Ieth({.rkey = 0xabc}).Payload(4).Build());
  EXPECT_EQ(frame.parts, kPartIeth);
  EXPECT_EQ(frame.ieth.rkey, 0xabcu);
  EXPECT_EQ(frame.payload_length, 4u);
}

TEST(Transport, ReadsDatagramsOfAllKinds) {
  const DecodedFrame ud = Decode(RoceFrame()
                                     .Bth({.opcode = 0x64})
                                     .Deth({.queue_key = 5, .source_qpn = {6}})
                                     .Payload(4)
                                     .Build());
  EXPECT_EQ(ud.parts, kPartDeth);
  EXPECT_EQ(ud.deth.queue_key, 5u);
  EXPECT_EQ(ud.deth.source_qpn, Qpn{6});
  const DecodedFrame rd = Decode(RoceFrame()
                                     .Bth({.opcode = 0x44})
                                     .Rdeth({.ee_context = 8})
                                     .Deth({.queue_key = 5, .source_qpn = {6}})
                                     .Build());
  EXPECT_EQ(rd.parts, kPartRdeth | kPartDeth);
  EXPECT_EQ(rd.rdeth.ee_context, 8u);
  EXPECT_EQ(rd.deth.source_qpn, Qpn{6});
}

TEST(Transport, ReadsXrc) {
  const DecodedFrame frame = Decode(RoceFrame()
                                        .Bth({.opcode = 0xaa})
                                        .Xrceth({.srq_number = 9})
                                        .Reth({.rkey = 3, .dma_length = 4})
                                        .Payload(4)
                                        .Build());
  EXPECT_EQ(frame.parts, kPartXrceth | kPartReth);
  EXPECT_EQ(frame.xrceth.srq_number, 9u);
  EXPECT_EQ(frame.reth.rkey, 3u);
}

// Annex A17.9.3: opcode 0x81, BECN set, 16 reserved bytes.
TEST(Transport, ReadsACongestionNotification) {
  const DecodedFrame frame =
      Decode(RoceFrame()
                 .Bth({.opcode = wire::kOpcodeCnp, .becn = true, .destination_qpn = {0x118}})
                 .Payload(Bytes(16))
                 .Build());
  EXPECT_TRUE(frame.bth.becn);
  EXPECT_EQ(frame.bth.destination_qpn, Qpn{0x118});
  EXPECT_EQ(frame.wire_length, 74u);  // as sent by ConnectX adapters
}

test::Frame CmFrame(const wire::CmMessage& message, uint32_t destination_qpn = 1) {
  return RoceFrame()
      .Bth({.opcode = 0x64, .destination_qpn = {destination_qpn}})
      .Deth({.queue_key = 0x80010000, .source_qpn = {1}})
      .Cm(message);
}

TEST(Transport, ReadsConnectionManagement) {
  const DecodedFrame frame = Decode(CmFrame({.attribute = wire::CmAttribute::kConnectReply,
                                             .transaction_id = 0x26dc5c06e,
                                             .local_comm_id = 1,
                                             .remote_comm_id = 2,
                                             .local_qpn = {0x2b},
                                             .starting_psn = 0xfebd3d})
                                        .Build());
  EXPECT_EQ(frame.parts, kPartDeth | kPartCm);
  EXPECT_EQ(frame.payload_length, 256u);  // every MAD has 256 bytes (13.4.2)
  EXPECT_EQ(frame.wire_length, 322u);
  EXPECT_EQ(frame.cm.attribute, wire::CmAttribute::kConnectReply);
  EXPECT_EQ(frame.cm.transaction_id, 0x26dc5c06eu);
  EXPECT_EQ(frame.cm.local_comm_id, 1u);
  EXPECT_EQ(frame.cm.remote_comm_id, 2u);
  EXPECT_EQ(frame.cm.local_qpn, Qpn{0x2b});
  EXPECT_EQ(frame.cm.starting_psn, 0xfebd3du);
}

TEST(Transport, OnlyDatagramsToQp1AreConnectionManagement) {
  EXPECT_EQ(Decode(CmFrame({}, 2).Build()).parts, kPartDeth);
}

TEST(Transport, DropsReservedOpcodes) {
  for (uint8_t opcode : {0x15, 0x18, 0x2c, 0x60, 0x80, 0x82, 0xb5, 0xc0, 0xff}) {
    EXPECT_EQ(DropReasonOf(RoceFrame().Bth({.opcode = opcode}).Payload(64).Build()),
              DropReason::kUnknownOpcode)
        << int{opcode};
  }
}

TEST(Transport, DropsAnotherTransportVersion) {
  EXPECT_EQ(DropReasonOf(RoceFrame().Bth({.opcode = 4, .transport_version = 1}).Payload(4).Build()),
            DropReason::kBadBth);
}

// The UDP length is at byte 38. The capture ends after the datagram, but before the IP packet's
// end.
TEST(Transport, DropsAPacketTooShortForABthInATruncatedFrame) {
  Bytes bytes = RoceFrame().Bth({.opcode = 4}).Payload(64).Snap(14 + 20 + 8 + 6).Build();
  bytes[39] = 8 + 4;
  EXPECT_EQ(DropReasonOf(bytes), DropReason::kBadBth);
  bytes[39] = 8 + 12;
  EXPECT_EQ(DropReasonOf(bytes), DropReason::kTruncatedBth);
}

// An RDMA WRITE ONLY without its 12 + 16 + 4 bytes, although the capture is complete.
TEST(Transport, DropsAPacketTooShortForItsOpcode) {
  EXPECT_EQ(DropReasonOf(RoceFrame().Bth({.opcode = 0x0a}).Payload(12).Build()),
            DropReason::kBadBth);
  EXPECT_EQ(DropReasonOf(RoceFrame().Payload(11).Build()), DropReason::kBadBth);
}

}  // namespace
}  // namespace rocescope
