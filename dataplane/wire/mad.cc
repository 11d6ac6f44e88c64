// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/mad.h"

#include <array>

namespace rocescope::wire {
namespace {

// Byte offsets after the MAD header (IBTA vol. 1, tables 12.6 to 12.11). kAbsent: the message does
// not have the field.
constexpr uint8_t kAbsent = 0xff;

struct Layout {
  CmAttribute attribute;
  uint8_t remote_comm_id = 4;      // 32 bits; the local one is always at 0
  uint8_t local_qpn = kAbsent;     // 24 bits
  uint8_t remote_qpn = kAbsent;    // 24 bits
  uint8_t starting_psn = kAbsent;  // 24 bits
  uint8_t service_id = kAbsent;    // 64 bits
  uint8_t reason = kAbsent;        // 16 bits
  uint8_t status = kAbsent;        // 8 bits
  uint8_t transport = kAbsent;     // bits 1 and 2 of the byte
  uint8_t path_mtu = kAbsent;      // upper 4 bits
};

constexpr Layout kLayouts[] = {
    {.attribute = CmAttribute::kConnectRequest,
     .remote_comm_id = kAbsent,
     .local_qpn = 32,
     .starting_psn = 44,
     .service_id = 8,
     .transport = 43,
     .path_mtu = 50},
    {.attribute = CmAttribute::kMessageReceiptAcknowledgement},
    {.attribute = CmAttribute::kConnectReject, .reason = 10},
    {.attribute = CmAttribute::kConnectReply, .local_qpn = 12, .starting_psn = 20},
    {.attribute = CmAttribute::kReadyToUse},
    {.attribute = CmAttribute::kDisconnectRequest, .remote_qpn = 8},
    {.attribute = CmAttribute::kDisconnectReply},
    {.attribute = CmAttribute::kServiceIdResolutionRequest,
     .remote_comm_id = kAbsent,
     .service_id = 8},
    {.attribute = CmAttribute::kServiceIdResolutionReply,
     .remote_comm_id = kAbsent,
     .local_qpn = 8,
     .service_id = 12,
     .status = 4},
    {.attribute = CmAttribute::kLoadAlternatePath, .remote_qpn = 12},
    {.attribute = CmAttribute::kAlternatePathResponse, .status = 9},
};

const Layout* LayoutOf(uint16_t attribute) {
  for (const Layout& layout : kLayouts) {
    if (static_cast<uint16_t>(layout.attribute) == attribute) return &layout;
  }
  return nullptr;
}

// Access to fields at any offset of the CM data. A read past the end makes all fields invalid.
class Fields {
 public:
  explicit Fields(std::span<const uint8_t> data) : data_(data) {}

  bool ok() const { return ok_; }
  uint64_t Get(uint8_t offset, size_t width) {
    if (offset == kAbsent) return 0;
    if (data_.size() < offset + width) {
      ok_ = false;
      return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < width; ++i) value = value << 8 | data_[offset + i];
    return value;
  }

 private:
  std::span<const uint8_t> data_;
  bool ok_ = true;
};

void Put(std::array<uint8_t, kCmDataSize>& data, uint8_t offset, size_t width, uint64_t value) {
  if (offset == kAbsent) return;
  for (size_t i = 0; i < width; ++i) {
    data[offset + i] |= static_cast<uint8_t>(value >> (8 * (width - 1 - i)));
  }
}

}  // namespace

bool ReadCmMessage(const MadHeader& header, ByteReader& in, CmMessage& message) {
  if (header.management_class != kMadClassCommunicationManagement) return false;
  const Layout* layout = LayoutOf(header.attribute_id);
  if (layout == nullptr) return false;
  Fields fields(in.Rest());
  const CmMessage read = {
      .attribute = layout->attribute,
      .transaction_id = header.transaction_id,
      .local_comm_id = static_cast<uint32_t>(fields.Get(0, 4)),
      .remote_comm_id = static_cast<uint32_t>(fields.Get(layout->remote_comm_id, 4)),
      .local_qpn = {static_cast<uint32_t>(fields.Get(layout->local_qpn, 3))},
      .remote_qpn = {static_cast<uint32_t>(fields.Get(layout->remote_qpn, 3))},
      .starting_psn = static_cast<uint32_t>(fields.Get(layout->starting_psn, 3)),
      .service_id = fields.Get(layout->service_id, 8),
      .reason =
          static_cast<uint16_t>(fields.Get(layout->reason, 2) | fields.Get(layout->status, 1)),
      .transport_service = static_cast<uint8_t>(fields.Get(layout->transport, 1) >> 1 & 3),
      .path_mtu = static_cast<uint8_t>(fields.Get(layout->path_mtu, 1) >> 4),
  };
  if (!fields.ok()) return false;
  message = read;
  return true;
}

void WriteCmMessage(ByteWriter& out, const CmMessage& message) {
  std::array<uint8_t, kCmDataSize> data{};
  if (const Layout* layout = LayoutOf(static_cast<uint16_t>(message.attribute))) {
    Put(data, 0, 4, message.local_comm_id);
    Put(data, layout->remote_comm_id, 4, message.remote_comm_id);
    Put(data, layout->local_qpn, 3, message.local_qpn.value);
    Put(data, layout->remote_qpn, 3, message.remote_qpn.value);
    Put(data, layout->starting_psn, 3, message.starting_psn);
    Put(data, layout->service_id, 8, message.service_id);
    Put(data, layout->reason, 2, message.reason);
    Put(data, layout->status, 1, message.reason);
    Put(data, layout->transport, 1, uint64_t{message.transport_service & 3u} << 1);
    Put(data, layout->path_mtu, 1, uint64_t{message.path_mtu} << 4);
  }
  out.Bytes(data);
}

}  // namespace rocescope::wire
