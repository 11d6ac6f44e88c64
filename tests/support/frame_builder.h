// SPDX-License-Identifier: BSD-3-Clause
// Builds frames for tests and generators, outermost header first:
//
//   RoceFrame().Bth({.opcode = 0x04, .destination_qpn = {17}, .psn = 5}).Payload(100).Build()
//   Frame().Eth().Vlan(5).Ipv4("10.0.0.1", "10.0.0.2", {.ttl = 3}).Udp(49152).Bth({...}).Build()
//   InErspan2(frame, {.session = 7})
//
// Build computes the type field of each header, lengths, the IPv4 checksum, the BTH's pad count,
// padding and iCRC. To build an invalid frame, modify its bytes afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/mad.h"
#include "dataplane/wire/mirror.h"
#include "dataplane/wire/pause.h"
#include "dataplane/wire/roce.h"

namespace rocescope::test {

using Bytes = std::vector<uint8_t>;

struct MacPair {
  uint64_t source = 0x020000000001;
  uint64_t destination = 0x020000000002;
};

// Fields of an IPv4 or IPv6 header other than its addresses.
struct Ip {
  uint8_t dscp = 26;
  uint8_t ecn = wire::kEcnEct0;
  uint8_t ttl = 64;
  uint16_t identification = 0;  // IPv4
  uint16_t fragment = 0x4000;   // IPv4: flags and offset; the default is Don't Fragment
  uint32_t flow_label = 0;      // IPv6
  Bytes options;                // IPv4: a multiple of four bytes, at most 40
};

class Frame {
 public:
  // Link layers and tags.
  Frame& Eth(const MacPair& macs = {});
  Frame& Vlan(uint16_t id, uint8_t priority = 0, uint16_t tag_type = wire::kEtherTypeVlan);
  Frame& LinuxCooked();
  Frame& LinuxCooked2();

  // Network and transport.
  Frame& Ipv4(std::string_view source, std::string_view destination, const Ip& ip = {});
  Frame& Ipv6(std::string_view source, std::string_view destination, const Ip& ip = {});
  // An IPv6 extension header of `size` bytes (a multiple of eight) that contains only PadN options.
  Frame& Ipv6Extension(wire::IpProtocol kind, size_t size = 8);
  Frame& Ipv6Fragment(uint16_t offset, bool more);
  // RoCEv1's network header. A Bth follows directly.
  Frame& Grh(std::string_view source, std::string_view destination, const Ip& ip = {});
  Frame& Udp(uint16_t source_port = 49152, uint16_t destination_port = wire::kUdpPortRoce);

  // Tunnels, followed by their content. GRE tunnels include the GRE header, UDP tunnels the UDP
  // header.
  Frame& Gre(const wire::GreHeader& gre = {});
  Frame& Erspan1();
  Frame& Erspan2(const wire::Erspan2Header& erspan, uint32_t sequence = 0);
  Frame& Erspan3(const wire::Erspan3Header& erspan, uint32_t sequence = 0);
  Frame& Erspan3(const wire::Erspan3Header& erspan, uint32_t sequence,
                 const wire::ErspanPlatformSubheader& platform);
  Frame& Vxlan(uint32_t network_id);
  Frame& Geneve(uint32_t network_id, std::span<const uint8_t> options = {});

  // InfiniBand transport. The caller adds the extended headers of the opcode.
  Frame& Bth(const wire::Bth& bth);
  Frame& Reth(const wire::Reth& h) { return Transport(h); }
  Frame& Aeth(const wire::Aeth& h) { return Transport(h); }
  Frame& Deth(const wire::Deth& h) { return Transport(h); }
  Frame& Rdeth(const wire::Rdeth& h) { return Transport(h); }
  Frame& Xrceth(const wire::Xrceth& h) { return Transport(h); }
  Frame& AtomicEth(const wire::AtomicEth& h) { return Transport(h); }
  Frame& AtomicAckEth(const wire::AtomicAckEth& h) { return Transport(h); }
  Frame& ImmDt(const wire::ImmDt& h) { return Transport(h); }
  Frame& Ieth(const wire::Ieth& h) { return Transport(h); }
  // A CM datagram: the payload of UD SEND ONLY to QP 1 (opcode 0x64, after a Deth).
  Frame& Cm(const wire::CmMessage& message);

  Frame& Pause(const wire::PauseFrame& pause);  // padded to the minimum Ethernet frame

  Frame& Payload(size_t size);  // bytes 0, 1, 2, ... 255, 0, ...
  Frame& Payload(std::span<const uint8_t> bytes);
  // A complete Ethernet frame inside a tunnel.
  Frame& Encapsulated(std::span<const uint8_t> frame);

  // Bytes after the innermost packet that its IP length does not include: Ethernet padding.
  Frame& Trailer(size_t size);
  // Truncates the result of Build to `size` bytes.
  Frame& Snap(size_t size);

  Bytes Build() const;

 private:
  enum class Kind : uint8_t { kLink, kIpv4, kIpv6, kGrh, kUdp, kBth, kOther };
  struct Layer {
    Kind kind;
    size_t offset;
  };

  template <typename Header>
  void Append(const Header& header) {
    bytes_.resize(bytes_.size() + Header::kSize);
    wire::ByteWriter out(std::span<uint8_t>(bytes_).last(Header::kSize));
    Write(out, header);
  }
  template <typename Header>
  Frame& Transport(const Header& header) {
    Append(header);
    payload_offset_ = bytes_.size();
    return *this;
  }
  // Starts a header and sets the type field of the previous one.
  void Begin(Kind kind, uint16_t ether_type, uint8_t ip_protocol);
  void NextIsAt(size_t offset, size_t width);
  void AppendIpv6(Kind kind, std::string_view source, std::string_view destination, const Ip& ip);
  void Finish(Bytes& bytes) const;

  Frame& AppendErspanGre(uint16_t protocol, uint32_t sequence);

  Bytes bytes_;
  std::vector<Layer> layers_;
  size_t next_offset_ = 0;  // offset of the last header's type field
  size_t next_width_ = 0;   // 2: EtherType, 1: IP protocol, 0: none
  size_t payload_offset_ = 0;
  size_t trailer_ = 0;
  std::optional<size_t> snap_;
};

// Ethernet, IPv4 from `source` to `destination`, UDP 49152 to 4791: ready for a Bth.
Frame RoceFrame(std::string_view source = "10.0.0.1", std::string_view destination = "10.0.0.2",
                const Ip& ip = {});

// Outer headers for a copy of `frame` that a switch sends to a collector, or an overlay to its
// peer.
struct Outer {
  std::string_view source = "192.0.2.1";
  std::string_view destination = "192.0.2.100";
  Ip ip = {.dscp = 0, .ecn = 0, .ttl = 60};
};
Bytes InErspan1(std::span<const uint8_t> frame, const Outer& outer = {});
Bytes InErspan2(std::span<const uint8_t> frame, const wire::Erspan2Header& erspan,
                uint32_t sequence = 0, const Outer& outer = {});
Bytes InErspan3(std::span<const uint8_t> frame, const wire::Erspan3Header& erspan,
                uint32_t sequence = 0, const Outer& outer = {});
Bytes InErspan3(std::span<const uint8_t> frame, const wire::Erspan3Header& erspan,
                uint32_t sequence, const wire::ErspanPlatformSubheader& platform,
                const Outer& outer = {});
Bytes InGre(std::span<const uint8_t> frame, const Outer& outer = {});
Bytes InVxlan(std::span<const uint8_t> frame, uint32_t network_id, const Outer& outer = {});
Bytes InGeneve(std::span<const uint8_t> frame, uint32_t network_id,
               std::span<const uint8_t> options = {}, const Outer& outer = {});

}  // namespace rocescope::test
