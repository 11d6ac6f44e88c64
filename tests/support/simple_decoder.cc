// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/simple_decoder.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

namespace rocescope::test {
namespace {

using Number = unsigned long long;

struct Drop {
  std::string reason;
};

// A part of the input. `end` is the first byte after it according to the headers, which may be
// after the end of the capture.
struct Part {
  size_t begin = 0;
  size_t end = 0;
};

std::string AddressText(const std::vector<uint8_t>& bytes) {
  std::string text;
  constexpr char kDigits[] = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The extended headers of an opcode, in their order on the wire (IBTA table 38, A14.3 for XRC).
std::vector<std::string> HeadersOf(Number opcode, bool& reserved) {
  const Number transport = opcode >> 5;
  const Number operation = opcode & 31;
  reserved = false;
  if (opcode == 0x81) return {};
  enum : Number { kRc = 0, kUc = 1, kRd = 2, kUd = 3, kXrc = 5 };
  switch (transport) {
    case kRc:
    case kXrc:
      reserved = operation == 0x15 || operation > 0x17;
      break;
    case kUc:
      reserved = operation > 0x0b;
      break;
    case kRd:
      reserved = operation > 0x15;
      break;
    case kUd:
      reserved = operation != 0x04 && operation != 0x05;
      break;
    default:
      reserved = true;
  }
  if (reserved) return {};
  const bool response = operation >= 0x0d && operation <= 0x12;
  std::vector<std::string> headers;
  if (transport == kRd) headers.push_back("rdeth");
  if ((transport == kRd && !response) || transport == kUd) headers.push_back("deth");
  if (transport == kXrc && !response) headers.push_back("xrceth");
  if (operation == 0x06 || operation == 0x0a || operation == 0x0b || operation == 0x0c)
    headers.push_back("reth");
  if (operation == 0x13 || operation == 0x14) headers.push_back("atomic");
  if (response && operation != 0x0e) headers.push_back("aeth");
  if (operation == 0x12) headers.push_back("atomic_ack");
  if (operation == 0x03 || operation == 0x05 || operation == 0x09 || operation == 0x0b)
    headers.push_back("immediate");
  if (operation == 0x16 || operation == 0x17) headers.push_back("ieth");
  return headers;
}

size_t SizeOf(const std::string& header) {
  if (header == "reth") return 16;
  if (header == "atomic") return 28;
  if (header == "deth" || header == "atomic_ack") return 8;
  return 4;
}

class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, SimpleFrame& out) : bytes_(bytes), out_(out) {}

  void Link(int link_type) {
    const Part all = {0, bytes_.size()};
    switch (link_type) {
      case 1:
        return Ethernet(all);
      case 101:
      case 228:
      case 229:
        Need(all, 0, 1, "truncated_ip");
        if (U(0, 1) >> 4 == 6) return Ipv6(all);
        return Ipv4(all);
      case 113:
        // The kernel replaces the Ethernet header, which has 14 bytes on the wire.
        Need(all, 0, 16, "truncated_link");
        original_begin_ = 16 - 14;
        return Content(U(14, 2), {16, all.end});
      case 276:
        Need(all, 0, 20, "truncated_link");
        original_begin_ = 20 - 14;
        return Content(U(0, 2), {20, all.end});
      default:
        throw Drop{"not_roce"};
    }
  }

 private:
  // The big-endian number of `count` bytes at `at`, which must be captured.
  Number U(size_t at, size_t count) const {
    Number value = 0;
    for (size_t i = 0; i < count; ++i) value = value << 8 | bytes_[at + i];
    return value;
  }
  std::vector<uint8_t> Bytes(size_t at, size_t count) const {
    return {bytes_.begin() + static_cast<std::ptrdiff_t>(at),
            bytes_.begin() + static_cast<std::ptrdiff_t>(at + count)};
  }

  size_t CapturedEnd(const Part& part) const { return std::min(part.end, bytes_.size()); }

  // Drops the frame if the capture of `part` ends before `at` + `count`.
  void Need(const Part& part, size_t at, size_t count, const std::string& reason) const {
    if (at + count > CapturedEnd(part)) throw Drop{reason};
  }

  void Set(const std::string& name, Number value) { out_.fields[name] = std::to_string(value); }
  void SetText(const std::string& name, const std::string& value) { out_.fields[name] = value; }
  void SetPart(const std::string& name, size_t begin, size_t end) {
    SetText(name, begin < end ? "at " + std::to_string(begin) + ", " + std::to_string(end - begin)
                              : "empty");
  }
  void EraseStartingWith(const std::string& prefix) {
    std::erase_if(out_.fields, [&](const auto& field) { return field.first.starts_with(prefix); });
  }

  void Ethernet(const Part& part) {
    Need(part, part.begin, 14, "truncated_link");
    original_begin_ = part.begin;
    Set("destination_mac", U(part.begin, 6));
    Set("source_mac", U(part.begin + 6, 6));
    Content(U(part.begin + 12, 2), {part.begin + 14, part.end});
  }

  // What follows an EtherType, at the begin of the part.
  void Content(Number type, Part part) {
    int tags = 0;
    while (type == 0x8100 || type == 0x88a8 || type == 0x9100) {
      if (tags == 4) throw Drop{"too_many_headers"};
      Need(part, part.begin, 4, "truncated_link");
      if (tags == 0) Set("vlan_id", U(part.begin, 2) & 0xfff);
      ++tags;
      type = U(part.begin + 2, 2);
      part.begin += 4;
    }
    Set("vlan_count", static_cast<Number>(tags));
    if (type == 0x0800) return Ipv4(part);
    if (type == 0x86dd) return Ipv6(part);
    if (type == 0x8915) return GlobalRouteHeader(part);
    if (type == 0x8808) return MacControl(part);
    throw Drop{"not_roce"};
  }

  void MacControl(const Part& part) {
    Need(part, part.begin, 2, "truncated_pause");
    const Number opcode = U(part.begin, 2);
    Need(part, part.begin, opcode == 0x0101 ? 20 : 4, "truncated_pause");
    if (opcode != 0x0001 && opcode != 0x0101) throw Drop{"not_roce"};
    SetText("kind", "pause");
    Set("pause.opcode", opcode);
    Set("pause.class_enable", opcode == 1 ? 0 : U(part.begin + 2, 2));
    for (size_t i = 0; i < 8; ++i) {
      Number quanta = 0;
      if (opcode == 0x0101) quanta = U(part.begin + 4 + 2 * i, 2);
      if (opcode == 1 && i == 0) quanta = U(part.begin + 2, 2);
      Set("pause.quanta" + std::to_string(i), quanta);
    }
    // 64 bytes with FCS, of which 14 and 4 are not content.
    Set("wire_length", part.begin - original_begin_ + 46);
  }

  void SetAddresses(const std::vector<uint8_t>& source, const std::vector<uint8_t>& destination) {
    source_ = AddressText(source);
    destination_ = AddressText(destination);
    SetText("source", source_);
    SetText("destination", destination_);
  }

  static std::vector<uint8_t> Mapped(const std::vector<uint8_t>& ipv4) {
    std::vector<uint8_t> address(10, 0);
    address.insert(address.end(), {0xff, 0xff});
    address.insert(address.end(), ipv4.begin(), ipv4.end());
    return address;
  }

  void Ipv4(const Part& part) {
    const size_t at = part.begin;
    Need(part, at, 20, "truncated_ip");
    const size_t header = (U(at, 1) & 15) * 4;
    const size_t length = U(at + 2, 2);
    if (U(at, 1) >> 4 != 4 || header < 20 || length < header) throw Drop{"bad_ip"};
    Need(part, at, header, "truncated_ip");
    network_begin_ = at;
    Set("ip_version", 4);
    Set("traffic_class", U(at + 1, 1));
    Set("ttl", U(at + 8, 1));
    SetAddresses(Mapped(Bytes(at + 12, 4)), Mapped(Bytes(at + 16, 4)));
    const Number fragment = U(at + 6, 2);
    if ((fragment & 0x1fff) != 0) throw Drop{"later_fragment"};
    Network(U(at + 9, 1), at + header, at + length, part, (fragment & 0x2000) != 0);
  }

  void Ipv6(const Part& part) {
    const size_t at = part.begin;
    Need(part, at, 40, "truncated_ip");
    if (U(at, 1) >> 4 != 6) throw Drop{"bad_ip"};
    network_begin_ = at;
    Set("ip_version", 6);
    Set("traffic_class", U(at, 2) >> 4 & 0xff);
    Set("ttl", U(at + 7, 1));
    SetAddresses(Bytes(at + 8, 16), Bytes(at + 24, 16));
    const size_t end = at + 40 + U(at + 4, 2);
    size_t next_at = at + 40;
    Number next = U(at + 6, 1);
    bool fragment = false;
    const size_t captured_end = std::min(CapturedEnd(part), end);
    for (int count = 0;; ++count) {
      const bool is_fragment = next == 44;
      const bool is_authentication = next == 51;
      if (next != 0 && next != 43 && next != 60 && !is_fragment && !is_authentication) break;
      size_t size = 8;
      if (next_at + 8 <= captured_end) {
        if (is_authentication) size = 8 + U(next_at + 1, 1) * 4;
        if (!is_authentication && !is_fragment) size = 8 + U(next_at + 1, 1) * 8;
        if (is_fragment && U(next_at + 2, 2) >> 3 != 0) throw Drop{"later_fragment"};
        if (is_fragment && (U(next_at + 2, 2) & 1) != 0) fragment = true;
      }
      if (next_at + size > captured_end)
        throw Drop{captured_end < end || fragment ? "truncated_ip" : "bad_ip"};
      if (count == 8) throw Drop{"too_many_headers"};
      next = U(next_at, 1);
      next_at += size;
    }
    Network(next, next_at, end, part, fragment);
  }

  // RoCEv1 (A16): a GRH has the layout of an IPv6 header.
  void GlobalRouteHeader(const Part& part) {
    const size_t at = part.begin;
    Need(part, at, 40, "truncated_ip");
    if (U(at, 1) >> 4 != 6) throw Drop{"bad_ip"};
    if (U(at + 6, 1) != 0x1b) throw Drop{"not_roce"};
    network_begin_ = at;
    Set("ip_version", 6);
    Set("traffic_class", U(at, 2) >> 4 & 0xff);
    Set("ttl", U(at + 7, 1));
    SetAddresses(Bytes(at + 8, 16), Bytes(at + 24, 16));
    const size_t end = at + 40 + U(at + 4, 2);
    Set("wire_length", end - original_begin_);
    Set("roce_v1", 1);
    Set("udp_source_port", 0);
    cut_ = CapturedEnd(part) < end;
    Transport({at + 40, end}, CapturedEnd(part));
  }

  // The content of an IP packet from `begin` to `end`, inside of `part`.
  void Network(Number protocol, size_t begin, size_t end, const Part& part, bool fragment) {
    Set("wire_length", end - original_begin_);
    const size_t captured_end = std::min(CapturedEnd(part), end);
    cut_ = captured_end < end || fragment;
    if (protocol == 17) return Udp(begin, end, captured_end, fragment);
    if (protocol == 47) return Gre({begin, captured_end});
    throw Drop{"not_roce"};
  }

  void Udp(size_t begin, size_t end, size_t captured_end, bool fragment) {
    if (begin + 8 > captured_end) throw Drop{cut_ ? "truncated_udp" : "bad_udp"};
    const size_t length = U(begin + 4, 2);
    if (length < 8 || (begin + length > end && !fragment)) throw Drop{"bad_udp"};
    Set("udp_source_port", U(begin, 2));
    const Part content = {begin + 8, begin + length};
    captured_end = std::min(captured_end, content.end);
    const Number port = U(begin + 2, 2);
    if (port == 4791) return Transport(content, captured_end);
    if (port == 4789) return Vxlan({content.begin, captured_end});
    if (port == 6081) return Geneve({content.begin, captured_end});
    if (port == 555) return IntMd(content, captured_end);
    if (tunnels_ > 0) throw Drop{"not_roce"};  // not sent to this collector
    if (port != 32766 && port != 6343) throw Drop{"not_roce"};
    SetText("kind", port == 6343 ? "sflow" : "int_report");
    Set("cut", cut_);
    SetPart("telemetry", content.begin, captured_end);
  }

  // INT-MD after a UDP header: a shim of four bytes, a header of twelve, and the metadata.
  void IntMd(const Part& content, size_t captured_end) {
    const size_t at = content.begin;
    const char* const too_short = cut_ ? "truncated_telemetry" : "bad_int";
    if (at + 4 > captured_end) throw Drop{too_short};
    const bool is_md = U(at, 1) >> 4 == 1;
    const Number next = U(at, 1) >> 2 & 3;
    const size_t size = U(at + 1, 1) * 4;
    if (at + 4 + size > captured_end) throw Drop{too_short};
    if (is_md && (size < 12 || U(at + 4, 1) >> 4 != 2)) throw Drop{"bad_int"};
    if (is_md) SetPart("int_stack", at + 4, at + 4 + size);
    has_int_ = true;
    const size_t rest = at + 4 + size;
    if (next == 1 && U(at + 2, 2) == 4791) return Transport({rest, content.end}, captured_end);
    if (next != 2 || U(at + 2, 2) != 17) throw Drop{"not_roce"};
    if (rest + 8 > captured_end) throw Drop{cut_ ? "truncated_telemetry" : "bad_udp"};
    const size_t length = U(rest + 4, 2);
    if (length < 8 || rest + length > content.end) throw Drop{"bad_udp"};
    if (U(rest + 2, 2) != 4791) throw Drop{"not_roce"};
    Set("udp_source_port", U(rest, 2));
    Transport({rest + 8, rest + length}, std::min(captured_end, rest + length));
  }

  // The outermost ERSPAN header, or otherwise the outermost tunnel, is the mirror.
  bool BecomesMirror(const std::string& kind) {
    const bool erspan = kind.starts_with("erspan");
    if (erspan) segment_ = 0;
    if (mirror_is_erspan_ || (has_mirror_ && !erspan)) return false;
    has_mirror_ = true;
    mirror_is_erspan_ = erspan;
    EraseStartingWith("mirror.");
    SetText("mirror.kind", kind);
    SetText("mirror.source", source_);
    SetText("mirror.destination", destination_);
    return true;
  }

  // The link layer outside of a tunnel does not belong to the original frame.
  void Inside(size_t begin) {
    if (tunnels_ == 3) throw Drop{"nested_too_deep"};
    ++tunnels_;
    original_begin_ = begin;
    EraseStartingWith("vlan_");
    EraseStartingWith("source_mac");
    EraseStartingWith("destination_mac");
    EraseStartingWith("udp_source_port");
  }
  void InsideEthernet(const Part& part) {
    Inside(part.begin);
    Ethernet(part);
  }
  void Gre(const Part& part) {
    size_t at = part.begin;
    Need(part, at, 4, "truncated_mirror");
    const Number flags = U(at, 2);
    const Number protocol = U(at + 2, 2);
    at += 4;
    if ((flags & 0xc000) != 0) at += 4;  // checksum or routing
    if ((flags & 0x2000) != 0) at += 4;
    const bool has_sequence = (flags & 0x1000) != 0;
    const size_t sequence_at = at;
    if (has_sequence) at += 4;
    Need(part, at, 0, "truncated_mirror");
    if ((flags & 7) != 0) throw Drop{"not_roce"};  // version 1: PPTP
    if ((flags & 0x4000) != 0) throw Drop{"bad_mirror"};
    const Number sequence = has_sequence ? U(sequence_at, 4) : 0;
    const Part content = {at, part.end};
    std::string kind = "gre";
    if (protocol == 0x88be) kind = has_sequence ? "erspan2" : "erspan1";
    if (protocol == 0x22eb) kind = "erspan3";
    if (kind == "erspan2") {
      Need(content, at, 8, "truncated_mirror");
      if (U(at, 1) >> 4 != 1) throw Drop{"bad_mirror"};
    }
    if (kind == "erspan3") {
      Need(content, at, 12, "truncated_mirror");
      Need(content, at, (U(at + 11, 1) & 1) != 0 ? 20 : 12, "truncated_mirror");
      if (U(at, 1) >> 4 != 2) throw Drop{"bad_mirror"};
    }
    if (BecomesMirror(kind)) {
      if (has_sequence) Set("mirror.sequence", sequence);
      if (kind == "erspan2") MirrorOfErspan2(at);
      if (kind == "erspan3") MirrorOfErspan3(at);
    }
    if (kind == "erspan1") return InsideEthernet(content);
    if (kind == "erspan2") return InsideEthernet({at + 8, part.end});
    if (kind == "erspan3") return Erspan3(at, part);
    if (protocol == 0x6558) return InsideEthernet(content);
    Inside(content.begin);
    Content(protocol, content);
  }

  void MirrorOfErspan2(size_t at) {
    Set("mirror.truncated", U(at + 2, 2) >> 10 & 1);
    Set("mirror.session", U(at + 2, 2) & 0x3ff);
    Set("mirror.port_index", U(at + 4, 4) & 0xfffff);
  }

  void MirrorOfErspan3(size_t at) {
    Set("mirror.truncated", U(at + 2, 2) >> 10 & 1);
    Set("mirror.session", U(at + 2, 2) & 0x3ff);
    Set("mirror.timestamp", U(at + 4, 4));
    SetText("mirror.direction", (U(at + 11, 1) & 8) != 0 ? "egress" : "ingress");
    Set("mirror.granularity", U(at + 11, 1) >> 1 & 3);
    if ((U(at + 11, 1) & 1) == 0) return;
    const Number platform = U(at + 12, 1) >> 2;
    if (platform == 1) Set("mirror.port_index", U(at + 16, 4));
    if (platform == 3) Set("mirror.port_index", U(at + 14, 2) & 0x3fff);
    if (platform == 5 || platform == 6) Set("mirror.port_index", U(at + 14, 2));
    if (platform == 7) Set("mirror.port_index", U(at + 13, 3) & 0xfffff);
    if (platform == 5 || platform == 6) Set("mirror.seconds", U(at + 16, 4));
    if (platform == 3 || platform == 7) Set("mirror.upper_timestamp", U(at + 16, 4));
  }

  void Erspan3(size_t at, const Part& part) {
    // Reserved frame types count as Ethernet, which nearly all devices send.
    const bool is_ip = (U(at + 10, 2) >> 10 & 0x1f) == 2;
    const Part content = {at + 12 + ((U(at + 11, 1) & 1) != 0 ? 8u : 0u), part.end};
    if (!is_ip) return InsideEthernet(content);
    Inside(content.begin);
    Need(content, content.begin, 1, "truncated_ip");
    Content(U(content.begin, 1) >> 4 == 6 ? 0x86dd : 0x0800, content);
  }

  void Vxlan(const Part& part) {
    Need(part, part.begin, 8, "truncated_mirror");
    if ((U(part.begin, 1) & 8) == 0) throw Drop{"bad_mirror"};
    BecomesMirror("vxlan");
    segment_ = U(part.begin + 4, 3) + 1;
    InsideEthernet({part.begin + 8, part.end});
  }

  void Geneve(const Part& part) {
    Need(part, part.begin, 8, "truncated_mirror");
    const size_t options = (U(part.begin, 1) & 0x3f) * 4;
    Need(part, part.begin + 8, options, "truncated_mirror");
    if (U(part.begin, 1) >> 6 != 0) throw Drop{"bad_mirror"};
    const Number protocol = U(part.begin + 2, 2);
    BecomesMirror("geneve");
    segment_ = U(part.begin + 4, 3) + 1;
    const Part content = {part.begin + 8 + options, part.end};
    if (protocol == 0x6558) return InsideEthernet(content);
    Inside(content.begin);
    Content(protocol, content);
  }

  // From the BTH to the iCRC. `content.end` is that of the headers.
  void Transport(const Part& content, size_t captured_end) {
    const size_t at = content.begin;
    if (at + 12 > content.end) throw Drop{"bad_bth"};
    if (at + 12 > captured_end) throw Drop{"truncated_bth"};
    const Number opcode = U(at, 1);
    const Number pad = U(at + 1, 1) >> 4 & 3;
    if ((U(at + 1, 1) & 15) != 0) throw Drop{"bad_bth"};
    bool reserved = false;
    const std::vector<std::string> headers = HeadersOf(opcode, reserved);
    if (reserved) throw Drop{"unknown_opcode"};
    size_t header_bytes = 0;
    for (const std::string& header : headers) header_bytes += SizeOf(header);
    if (at + 12 + header_bytes + pad + 4 > content.end) throw Drop{"bad_bth"};

    SetText("kind", "roce");
    Set("cut", cut_);
    Set("segment", segment_);
    Set("bth.opcode", opcode);
    Set("bth.solicited_event", U(at + 1, 1) >> 7);
    Set("bth.migration_request", U(at + 1, 1) >> 6 & 1);
    Set("bth.pad_count", pad);
    Set("bth.partition_key", U(at + 2, 2));
    Set("bth.fecn", U(at + 4, 1) >> 7);
    Set("bth.becn", U(at + 4, 1) >> 6 & 1);
    Set("bth.destination_qpn", U(at + 5, 3));
    Set("bth.ack_request", U(at + 8, 1) >> 7);
    Set("bth.psn", U(at + 9, 3));

    size_t next = at + 12;
    for (const std::string& header : headers) {
      const size_t size = SizeOf(header);
      if (next + size > captured_end) {
        if (captured_end > next)
          SetText("partial", header + " " + std::to_string(captured_end - next));
        break;
      }
      Extended(header, next);
      next += size;
    }
    const size_t payload_at = at + 12 + header_bytes;
    const size_t payload_length = content.end - payload_at - pad - 4;
    const size_t payload_end = std::min(payload_at + payload_length, captured_end);
    Set("payload_length", payload_length);
    SetPart("payload", payload_at, payload_end);
    if (opcode >> 5 == 3 && U(at + 5, 3) == 1 && payload_at < payload_end)
      Management({payload_at, payload_end});
    if (!cut_ && !has_int_) SetPart("network_packet", network_begin_, content.end);
  }

  void Extended(const std::string& header, size_t at) {
    Set(header, 1);
    if (header == "reth") {
      Set("reth.virtual_address", U(at, 8));
      Set("reth.rkey", U(at + 8, 4));
      Set("reth.dma_length", U(at + 12, 4));
    } else if (header == "aeth") {
      Set("aeth.syndrome", U(at, 1));
      Set("aeth.msn", U(at + 1, 3));
    } else if (header == "deth") {
      Set("deth.queue_key", U(at, 4));
      Set("deth.source_qpn", U(at + 5, 3));
    } else if (header == "immediate") {
      Set("immediate.data", U(at, 4));
    } else if (header == "ieth") {
      Set("ieth.rkey", U(at, 4));
    } else if (header == "atomic") {
      Set("atomic.virtual_address", U(at, 8));
      Set("atomic.rkey", U(at + 8, 4));
      Set("atomic.swap_or_add", U(at + 12, 8));
      Set("atomic.compare", U(at + 20, 8));
    } else if (header == "atomic_ack") {
      Set("atomic_ack.original_data", U(at, 8));
    } else if (header == "xrceth") {
      Set("xrceth.srq_number", U(at + 1, 3));
    } else if (header == "rdeth") {
      Set("rdeth.ee_context", U(at + 1, 3));
    }
  }

  // A MAD of the communication manager (12.6, 13.4): 24 and 232 bytes. Only complete ones.
  void Management(const Part& part) {
    if (part.begin + 256 > part.end) return SetText("cm", "incomplete");
    const size_t at = part.begin;
    const size_t data = at + 24;
    if (U(at + 1, 1) != 7) return;
    const Number attribute = U(at + 16, 2);
    if (attribute < 0x10 || attribute > 0x1a) return;
    Number remote_id = U(data + 4, 4), local_qpn = 0, remote_qpn = 0, psn = 0, service = 0;
    Number reason = 0, transport = 0, mtu = 0;
    switch (attribute) {
      case 0x10:  // REQ
        remote_id = 0;
        service = U(data + 8, 8);
        local_qpn = U(data + 32, 3);
        transport = U(data + 43, 1) >> 1 & 3;
        psn = U(data + 44, 3);
        mtu = U(data + 50, 1) >> 4;
        break;
      case 0x12:  // REJ
        reason = U(data + 10, 2);
        break;
      case 0x13:  // REP
        local_qpn = U(data + 12, 3);
        psn = U(data + 20, 3);
        break;
      case 0x15:  // DREQ
        remote_qpn = U(data + 8, 3);
        break;
      case 0x17:  // SIDR_REQ
        remote_id = 0;
        service = U(data + 8, 8);
        break;
      case 0x18:  // SIDR_REP
        remote_id = 0;
        reason = U(data + 4, 1);
        local_qpn = U(data + 8, 3);
        service = U(data + 12, 8);
        break;
      case 0x19:  // LAP
        remote_qpn = U(data + 12, 3);
        break;
      case 0x1a:  // APR
        reason = U(data + 9, 1);
        break;
      default:
        break;
    }
    SetText("cm", "complete");
    Set("cm.attribute", attribute);
    Set("cm.transaction_id", U(at + 8, 8));
    Set("cm.local_comm_id", U(data, 4));
    Set("cm.remote_comm_id", remote_id);
    Set("cm.local_qpn", local_qpn);
    Set("cm.remote_qpn", remote_qpn);
    Set("cm.starting_psn", psn);
    Set("cm.service_id", service);
    Set("cm.reason", reason);
    Set("cm.transport_service", transport);
    Set("cm.path_mtu", mtu);
  }

  std::span<const uint8_t> bytes_;
  SimpleFrame& out_;
  size_t original_begin_ = 0;  // where the original frame begins
  size_t network_begin_ = 0;
  std::string source_;
  std::string destination_;
  Number segment_ = 0;
  int tunnels_ = 0;
  bool has_mirror_ = false;
  bool mirror_is_erspan_ = false;
  bool has_int_ = false;
  bool cut_ = false;
};

}  // namespace

SimpleFrame DecodeSimply(std::span<const uint8_t> bytes, int link_type) {
  SimpleFrame out;
  try {
    Decoder(bytes, out).Link(link_type);
  } catch (const Drop& drop) {
    out.fields.clear();
    out.drop = drop.reason;
  }
  return out;
}

}  // namespace rocescope::test
