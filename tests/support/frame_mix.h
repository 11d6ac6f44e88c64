// SPDX-License-Identifier: BSD-3-Clause
// A deterministic mix of frames as on a busy collector port, with invalid frames.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "dataplane/decode/frame.h"
#include "dataplane/wire/opcode.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {

class FrameMix {
 public:
  // With `noise`, every frame also has randomly changed bytes or is truncated.
  explicit FrameMix(size_t count, bool noise = false) {
    bytes_.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      bytes_.push_back(Make(i));
      if (noise) Spoil(bytes_.back());
      bytes_.back().shrink_to_fit();  // lets AddressSanitizer detect reads past the end
    }
    int64_t now = int64_t{1'700'000'000} * 1'000'000'000;
    for (const Bytes& bytes : bytes_) {
      now += random_() % 5'000;  // ns
      frames_.push_back({.bytes = bytes,
                         .original_length = static_cast<uint32_t>(bytes.size()),
                         .timestamp = FromNanoseconds(now),
                         .tap = static_cast<uint16_t>(random_() % 2)});
    }
  }

  std::span<const RawFrame> frames() const { return frames_; }

 private:
  Bytes Make(size_t i) {
    const auto psn = static_cast<uint32_t>(i / 4);
    const uint32_t qpn = 10 + random_() % 6;
    const Ip ip{.ecn = static_cast<uint8_t>(random_() % 4),
                .ttl = static_cast<uint8_t>(64 - random_() % 2)};
    const std::string_view to = random_() % 2 ? "10.0.0.2" : "10.0.0.3";
    const Bytes write =
        RoceFrame("10.0.0.1", to, ip)
            .Bth({.opcode = wire::kOpcodeWriteOnly,
                  .destination_qpn = {qpn},
                  .ack_request = true,
                  .psn = psn})
            .Reth({.virtual_address = 0x7f0000000000 + i * 64, .rkey = 7, .dma_length = 64})
            .Payload(64)
            .Build();
    switch (random_() % 16) {
      case 0:
        return RoceFrame(to, "10.0.0.1", ip)
            .Bth({.opcode = wire::kOpcodeAcknowledge, .destination_qpn = {qpn}, .psn = psn})
            .Aeth({.syndrome = static_cast<uint8_t>(random_() % 4 ? 0x1f : 0x60)})
            .Build();
      case 1:
        return RoceFrame(to, "10.0.0.1")
            .Bth({.opcode = wire::kOpcodeCnp, .destination_qpn = {qpn}})
            .Payload(16)
            .Build();
      case 2:
        return Frame()
            .Eth()
            .Grh("fe80::1", "fe80::2")
            .Bth({.opcode = wire::kOpcodeSendOnly, .destination_qpn = {qpn}, .psn = psn})
            .Payload(32)
            .Build();
      case 3:
        return RoceFrame("10.0.0.1", to)
            .Bth({.opcode = wire::kOpcodeUdSendOnly, .destination_qpn = kManagementQpn, .psn = psn})
            .Deth({.queue_key = 0x80010000, .source_qpn = kManagementQpn})
            .Cm({.attribute = wire::CmAttribute::kConnectRequest, .transaction_id = i})
            .Build();
      case 4:
        return Frame().Eth().Pause({.opcode = 0x0101}).Build();
      case 5: {
        wire::Erspan3Header erspan{.session = static_cast<uint16_t>(1 + random_() % 3),
                                   .timestamp = static_cast<uint32_t>(i * 25),
                                   .granularity = wire::ErspanGranularity::k100Nanoseconds};
        if (i % 2 == 0) return InErspan3(write, erspan, static_cast<uint32_t>(i));
        erspan.has_platform_subheader = true;
        return InErspan3(write, erspan, static_cast<uint32_t>(i), {.platform_id = 3, .info = 17});
      }
      case 6:
        return InVxlan(write, 5000 + random_() % 2);
      case 7:
        return InErspan2(write, {.session = 9, .index = 3}, static_cast<uint32_t>(i));
      case 12:
        return Frame()
            .Eth()
            .Vlan(5)
            .Ipv4("10.0.0.1", to, ip)
            .Udp()
            .Bth({.opcode = wire::kOpcodeWriteMiddle, .destination_qpn = {qpn}, .psn = psn})
            .Payload(32)
            .Build();
      case 8:
        return Frame().Eth().Ipv4("10.0.0.8", "10.0.0.9").Udp(1000, 53).Payload(40).Build();
      case 9:
        return RoceFrame("10.0.0.7", "10.0.0.8")
            .Bth({.opcode = wire::kOpcodeSendOnly, .destination_qpn = {qpn}, .psn = psn})
            .Payload(8)
            .Build();
      case 10: {
        Bytes cut = write;
        cut.resize(random_() % cut.size());
        return cut;
      }
      case 11:
        return Frame()
            .Eth()
            .Ipv6("2001:db8::1", "2001:db8::2")
            .Udp()
            .Bth({.opcode = wire::kOpcodeReadRequest, .destination_qpn = {qpn}, .psn = psn * 3})
            .Reth({.rkey = 1, .dma_length = 3000})
            .Build();
      default:
        return write;
    }
  }

  void Spoil(Bytes& bytes) {
    for (int changes = static_cast<int>(random_() % 8); changes > 0 && !bytes.empty(); --changes) {
      bytes[random_() % bytes.size()] = static_cast<uint8_t>(random_());
    }
    if (random_() % 4 == 0) bytes.resize(random_() % (bytes.size() + 1));
  }

  std::mt19937 random_{11};
  std::vector<Bytes> bytes_;
  std::vector<RawFrame> frames_;
};

}  // namespace rocescope::test
