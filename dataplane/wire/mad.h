// SPDX-License-Identifier: BSD-3-Clause
// Management datagrams of the communication manager (CM) on QP1 (IBTA vol. 1, 13.4 and 12.6).
#pragma once

#include <cstdint>

#include "base/qpn.h"
#include "dataplane/wire/reader.h"
#include "dataplane/wire/writer.h"

namespace rocescope::wire {

inline constexpr uint8_t kMadClassCommunicationManagement = 0x07;

enum class CmAttribute : uint16_t {
  kConnectRequest = 0x10,
  kMessageReceiptAcknowledgement = 0x11,
  kConnectReject = 0x12,
  kConnectReply = 0x13,
  kReadyToUse = 0x14,
  kDisconnectRequest = 0x15,
  kDisconnectReply = 0x16,
  kServiceIdResolutionRequest = 0x17,
  kServiceIdResolutionReply = 0x18,
  kLoadAlternatePath = 0x19,
  kAlternatePathResponse = 0x1a,
};

struct MadHeader {
  static constexpr size_t kSize = 24;
  uint8_t base_version = 1;
  uint8_t management_class = kMadClassCommunicationManagement;
  uint8_t class_version = 2;
  uint8_t method = 3;
  uint16_t status = 0;
  uint64_t transaction_id = 0;
  uint16_t attribute_id = 0;
  uint32_t attribute_modifier = 0;
};

constexpr void Read(ByteReader& in, MadHeader& h) {
  const auto at = in.Take<MadHeader::kSize>();
  h.base_version = at.U8<0>();
  h.management_class = at.U8<1>();
  h.class_version = at.U8<2>();
  h.method = at.U8<3>();
  h.status = at.U16<4>();
  h.transaction_id = at.U64<8>();
  h.attribute_id = at.U16<16>();
  h.attribute_modifier = at.U32<20>();
}
constexpr void Write(ByteWriter& out, const MadHeader& h) {
  out.U8(h.base_version);
  out.U8(h.management_class);
  out.U8(h.class_version);
  out.U8(h.method);
  out.U16(h.status);
  out.Zeros(2);
  out.U64(h.transaction_id);
  out.U16(h.attribute_id);
  out.Zeros(2);
  out.U32(h.attribute_modifier);
}
static_assert(EncodedSize<MadHeader>() == MadHeader::kSize);

// The fields of a CM message that identify the queue pairs of a connection. Zero if the attribute
// has no such field.
struct CmMessage {
  CmAttribute attribute = CmAttribute::kConnectRequest;
  uint64_t transaction_id = 0;
  uint32_t local_comm_id = 0;   // sender's ID; the request ID of service ID resolution
  uint32_t remote_comm_id = 0;  // receiver's ID
  Qpn local_qpn;   // ConnectRequest, ConnectReply, ServiceIdResolutionReply: the sender's QP
  Qpn remote_qpn;  // DisconnectRequest, LoadAlternatePath: the receiver's QP
  // ConnectRequest, ConnectReply: PSN of the first packet that the receiver of this message will
  // send to its sender.
  uint32_t starting_psn = 0;
  uint64_t service_id = 0;        // ConnectRequest, ServiceIdResolutionRequest and -Reply
  uint16_t reason = 0;            // ConnectReject; the status of AlternatePathResponse and
                                  // ServiceIdResolutionReply
  uint8_t transport_service = 0;  // ConnectRequest: 0 RC, 1 UC, 3 see extended type
  uint8_t path_mtu = 0;           // ConnectRequest: 1 = 256 to 5 = 4096
};

inline constexpr size_t kCmDataSize = 232;  // after the MAD header

// Reads the CM message after `header` without advancing `in`. Returns false and leaves `message`
// unchanged if the MAD has another class or attribute, or if the capture ends before the fields.
bool ReadCmMessage(const MadHeader& header, ByteReader& in, CmMessage& message);

// Writes the 232 bytes after the MAD header. Other fields are zero.
void WriteCmMessage(ByteWriter& out, const CmMessage& message);

}  // namespace rocescope::wire
