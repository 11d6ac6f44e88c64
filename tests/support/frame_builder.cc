// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/frame_builder.h"

#include <algorithm>

#include "base/address.h"
#include "dataplane/wire/icrc.h"

namespace rocescope::test {
namespace {

void PutU16(Bytes& bytes, size_t offset, size_t value) {
  bytes.at(offset) = static_cast<uint8_t>(value >> 8);
  bytes.at(offset + 1) = static_cast<uint8_t>(value);
}

// RFC 791: the complement of the one's complement sum of the header words, with the checksum field
// zero.
void FillIpv4Checksum(Bytes& bytes, size_t offset) {
  PutU16(bytes, offset + 10, 0);
  const size_t size = size_t{4} * (bytes.at(offset) & 0xf);
  uint32_t sum = 0;
  for (size_t i = 0; i < size; i += 2) {
    sum += uint32_t{bytes.at(offset + i)} << 8 | bytes.at(offset + i + 1);
  }
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  PutU16(bytes, offset + 10, ~sum & 0xffff);
}

uint8_t TrafficClass(const Ip& ip) { return static_cast<uint8_t>(ip.dscp << 2 | ip.ecn); }

}  // namespace

void Frame::Begin(Kind kind, uint16_t ether_type, uint8_t ip_protocol) {
  if (next_width_ == 2) PutU16(bytes_, next_offset_, ether_type);
  if (next_width_ == 1) bytes_.at(next_offset_) = ip_protocol;
  next_width_ = 0;
  layers_.push_back({.kind = kind, .offset = bytes_.size()});
}

void Frame::NextIsAt(size_t offset, size_t width) {
  next_offset_ = offset;
  next_width_ = width;
}

Frame& Frame::Eth(const MacPair& macs) {
  Begin(Kind::kLink, wire::kEtherTypeTransparentBridging, 0);
  Append(wire::EthernetHeader{.destination = macs.destination, .source = macs.source});
  NextIsAt(bytes_.size() - 2, 2);
  return *this;
}

Frame& Frame::Vlan(uint16_t id, uint8_t priority, uint16_t tag_type) {
  Begin(Kind::kOther, tag_type, 0);
  Append(wire::VlanTag{.priority = priority, .id = id});
  NextIsAt(bytes_.size() - 2, 2);
  return *this;
}

Frame& Frame::LinuxCooked() {
  Begin(Kind::kLink, 0, 0);
  Append(wire::LinuxCookedHeader{});
  NextIsAt(bytes_.size() - 2, 2);
  return *this;
}

Frame& Frame::LinuxCooked2() {
  Begin(Kind::kLink, 0, 0);
  Append(wire::LinuxCooked2Header{.interface_index = 1});
  NextIsAt(bytes_.size() - wire::LinuxCooked2Header::kSize, 2);
  return *this;
}

Frame& Frame::Ipv4(std::string_view source, std::string_view destination, const Ip& ip) {
  Begin(Kind::kIpv4, wire::kEtherTypeIpv4, wire::kIpProtocolIpv4);
  const size_t offset = bytes_.size();
  Append(wire::Ipv4Header{.header_words = static_cast<uint8_t>(5 + ip.options.size() / 4),
                          .traffic_class = TrafficClass(ip),
                          .identification = ip.identification,
                          .fragment = ip.fragment,
                          .ttl = ip.ttl,
                          .source = ParseIpAddress(source).value().V4(),
                          .destination = ParseIpAddress(destination).value().V4()});
  bytes_.insert(bytes_.end(), ip.options.begin(), ip.options.end());
  NextIsAt(offset + 9, 1);
  return *this;
}

void Frame::AppendIpv6(Kind kind, std::string_view source, std::string_view destination,
                       const Ip& ip) {
  const size_t offset = bytes_.size();
  Append(wire::Ipv6Header{.traffic_class = TrafficClass(ip),
                          .flow_label = ip.flow_label,
                          .hop_limit = ip.ttl,
                          .source = ParseIpAddress(source).value(),
                          .destination = ParseIpAddress(destination).value()});
  layers_.back().kind = kind;
  NextIsAt(offset + 6, 1);
}

Frame& Frame::Ipv6(std::string_view source, std::string_view destination, const Ip& ip) {
  Begin(Kind::kIpv6, wire::kEtherTypeIpv6, wire::kIpProtocolIpv6);
  AppendIpv6(Kind::kIpv6, source, destination, ip);
  return *this;
}

Frame& Frame::Grh(std::string_view source, std::string_view destination, const Ip& ip) {
  Begin(Kind::kGrh, wire::kEtherTypeRoceV1, 0);
  AppendIpv6(Kind::kGrh, source, destination, ip);
  return *this;
}

Frame& Frame::Ipv6Extension(wire::IpProtocol kind, size_t size) {
  Begin(Kind::kOther, 0, kind);
  const size_t offset = bytes_.size();
  bytes_.resize(offset + size);
  bytes_[offset + 1] = static_cast<uint8_t>(size / 8 - 1);
  bytes_[offset + 2] = 1;  // PadN (RFC 8200 4.2)
  bytes_[offset + 3] = static_cast<uint8_t>(size - 4);
  NextIsAt(offset, 1);
  return *this;
}

Frame& Frame::Ipv6Fragment(uint16_t offset, bool more) {
  Begin(Kind::kOther, 0, wire::kIpProtocolFragment);
  Append(wire::Ipv6FragmentHeader{.offset = offset, .more = more, .identification = 1});
  NextIsAt(bytes_.size() - wire::Ipv6FragmentHeader::kSize, 1);
  return *this;
}

Frame& Frame::Udp(uint16_t source_port, uint16_t destination_port) {
  Begin(Kind::kUdp, 0, wire::kIpProtocolUdp);
  Append(wire::UdpHeader{.source_port = source_port, .destination_port = destination_port});
  return *this;
}

Frame& Frame::Gre(const wire::GreHeader& gre) {
  Begin(Kind::kOther, 0, wire::kIpProtocolGre);
  const size_t offset = bytes_.size();
  const size_t words = (gre.has_checksum || gre.has_routing) + gre.has_key + gre.has_sequence;
  bytes_.resize(offset + wire::GreHeader::kSize + 4 * words);
  wire::ByteWriter out(std::span<uint8_t>(bytes_).subspan(offset));
  Write(out, gre);
  if (gre.protocol == 0) NextIsAt(offset + 2, 2);
  return *this;
}

Frame& Frame::Erspan1() { return Gre({.protocol = wire::kEtherTypeErspan2}); }

Frame& Frame::AppendErspanGre(uint16_t protocol, uint32_t sequence) {
  return Gre({.has_sequence = true, .protocol = protocol, .sequence = sequence});
}

Frame& Frame::Erspan2(const wire::Erspan2Header& erspan, uint32_t sequence) {
  AppendErspanGre(wire::kEtherTypeErspan2, sequence);
  Append(erspan);
  return *this;
}

Frame& Frame::Erspan3(const wire::Erspan3Header& erspan, uint32_t sequence) {
  AppendErspanGre(wire::kEtherTypeErspan3, sequence);
  Append(erspan);
  return *this;
}

Frame& Frame::Erspan3(const wire::Erspan3Header& erspan, uint32_t sequence,
                      const wire::ErspanPlatformSubheader& platform) {
  wire::Erspan3Header with_platform = erspan;
  with_platform.has_platform_subheader = true;
  Erspan3(with_platform, sequence);
  Append(platform);
  return *this;
}

Frame& Frame::Vxlan(uint32_t network_id) {
  Udp(49153, wire::kUdpPortVxlan);
  Append(wire::VxlanHeader{.network_id = network_id});
  return *this;
}

Frame& Frame::Geneve(uint32_t network_id, std::span<const uint8_t> options) {
  Udp(49154, wire::kUdpPortGeneve);
  const size_t offset = bytes_.size();
  Append(wire::GeneveHeader{.option_words = static_cast<uint8_t>(options.size() / 4),
                            .network_id = network_id});
  Payload(options);
  NextIsAt(offset + 2, 2);
  return *this;
}

Frame& Frame::Bth(const wire::Bth& bth) {
  Begin(Kind::kBth, 0, wire::kIpProtocolIbGlobalHeader);
  return Transport(bth);
}

Frame& Frame::Cm(const wire::CmMessage& message) {
  Append(wire::MadHeader{.transaction_id = message.transaction_id,
                         .attribute_id = static_cast<uint16_t>(message.attribute)});
  bytes_.resize(bytes_.size() + wire::kCmDataSize);
  wire::ByteWriter out(std::span<uint8_t>(bytes_).last(wire::kCmDataSize));
  WriteCmMessage(out, message);
  return *this;
}

Frame& Frame::Pause(const wire::PauseFrame& pause) {
  Begin(Kind::kOther, wire::kEtherTypeMacControl, 0);
  const size_t offset = bytes_.size();
  bytes_.resize(offset + 46);  // minimum payload of an Ethernet frame
  wire::ByteWriter out(std::span<uint8_t>(bytes_).subspan(offset));
  Write(out, pause);
  return *this;
}

Frame& Frame::Payload(size_t size) {
  for (size_t i = 0; i < size; ++i) bytes_.push_back(static_cast<uint8_t>(i));
  return *this;
}

Frame& Frame::Payload(std::span<const uint8_t> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

Frame& Frame::Encapsulated(std::span<const uint8_t> frame) {
  Begin(Kind::kLink, wire::kEtherTypeTransparentBridging, 0);
  return Payload(frame);
}

Frame& Frame::Trailer(size_t size) {
  trailer_ = size;
  return *this;
}

Frame& Frame::Snap(size_t size) {
  snap_ = size;
  return *this;
}

Bytes Frame::Build() const {
  Bytes bytes = bytes_;
  Finish(bytes);
  if (snap_) bytes.resize(std::min(bytes.size(), *snap_));
  return bytes;
}

void Frame::Finish(Bytes& bytes) const {
  const auto is = [](Kind kind) {
    return [kind](const Layer& layer) { return layer.kind == kind; };
  };
  const auto bth = std::find_if(layers_.begin(), layers_.end(), is(Kind::kBth));
  if (bth != layers_.end()) {
    const size_t pad_count = (4 - (bytes.size() - payload_offset_) % 4) % 4;
    uint8_t& flags = bytes.at(bth->offset + 1);
    flags = static_cast<uint8_t>((flags & ~0x30) | pad_count << 4);
    bytes.resize(bytes.size() + pad_count + wire::kIcrcSize);
  }

  // The trailer is inside the tunnels, after the innermost packet.
  const size_t packet_end = bytes.size();
  bytes.resize(packet_end + trailer_);
  size_t innermost_link = 0;
  for (const Layer& layer : layers_) {
    if (layer.kind == Kind::kLink) innermost_link = layer.offset;
  }
  for (const Layer& layer : layers_) {
    const size_t end = layer.offset >= innermost_link ? packet_end : bytes.size();
    const size_t length = end - layer.offset;
    if (layer.kind == Kind::kIpv4) {
      PutU16(bytes, layer.offset + 2, length);
      FillIpv4Checksum(bytes, layer.offset);
    } else if (layer.kind == Kind::kIpv6 || layer.kind == Kind::kGrh) {
      PutU16(bytes, layer.offset + 4, length - wire::Ipv6Header::kSize);
    } else if (layer.kind == Kind::kUdp) {
      PutU16(bytes, layer.offset + 4, length);
    }
  }
  if (bth == layers_.end()) return;

  const auto network =
      std::find_if(std::make_reverse_iterator(bth), layers_.rend(), [](Layer layer) {
        return layer.kind == Kind::kIpv4 || layer.kind == Kind::kIpv6 || layer.kind == Kind::kGrh;
      });
  if (network == layers_.rend()) return;
  const size_t icrc_offset = packet_end - wire::kIcrcSize;
  const std::span<uint8_t> whole(bytes);
  wire::ByteWriter out(whole.subspan(icrc_offset, wire::kIcrcSize));
  wire::WriteIcrc(out,
                  wire::ComputeIcrc(whole.subspan(network->offset, icrc_offset - network->offset)));
}

Frame RoceFrame(std::string_view source, std::string_view destination, const Ip& ip) {
  return Frame().Eth().Ipv4(source, destination, ip).Udp();
}

namespace {

Frame To(const Outer& outer) {
  return Frame().Eth().Ipv4(outer.source, outer.destination, outer.ip);
}

}  // namespace

Bytes InErspan1(std::span<const uint8_t> frame, const Outer& outer) {
  return To(outer).Erspan1().Encapsulated(frame).Build();
}

Bytes InErspan2(std::span<const uint8_t> frame, const wire::Erspan2Header& erspan,
                uint32_t sequence, const Outer& outer) {
  return To(outer).Erspan2(erspan, sequence).Encapsulated(frame).Build();
}

Bytes InErspan3(std::span<const uint8_t> frame, const wire::Erspan3Header& erspan,
                uint32_t sequence, const Outer& outer) {
  return To(outer).Erspan3(erspan, sequence).Encapsulated(frame).Build();
}

Bytes InErspan3(std::span<const uint8_t> frame, const wire::Erspan3Header& erspan,
                uint32_t sequence, const wire::ErspanPlatformSubheader& platform,
                const Outer& outer) {
  return To(outer).Erspan3(erspan, sequence, platform).Encapsulated(frame).Build();
}

Bytes InGre(std::span<const uint8_t> frame, const Outer& outer) {
  return To(outer).Gre().Encapsulated(frame).Build();
}

Bytes InVxlan(std::span<const uint8_t> frame, uint32_t network_id, const Outer& outer) {
  return To(outer).Vxlan(network_id).Encapsulated(frame).Build();
}

Bytes InGeneve(std::span<const uint8_t> frame, uint32_t network_id,
               std::span<const uint8_t> options, const Outer& outer) {
  return To(outer).Geneve(network_id, options).Encapsulated(frame).Build();
}

}  // namespace rocescope::test
