// SPDX-License-Identifier: BSD-3-Clause
// Writes the captures that compare.py passes to tshark and to `rocescope decode`:
//   rocescope_tshark_captures FOLDER
// Each frame has distinct values in all fields, so that swapped fields are detected.
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "dataplane/wire/opcode.h"
#include "tests/support/frame_builder.h"
#include "tests/support/pcap_writer.h"

namespace rocescope::test {
namespace {

// 2024-05-01T12:00:00Z. Frames are one millisecond and one nanosecond apart.
constexpr int64_t kFirst = 1'714'564'800'000'000'000;
constexpr int64_t kStep = 1'000'001;

class Capture {
 public:
  explicit Capture(std::string name) : name_(std::move(name)) {}

  void Add(Bytes frame) { AddCut(std::move(frame), SIZE_MAX); }
  void AddCut(Bytes frame, size_t size) {
    const auto length = static_cast<uint32_t>(frame.size());
    if (size < frame.size()) frame.resize(size);
    frames_.push_back({.time_ns = kFirst + static_cast<int64_t>(frames_.size()) * kStep,
                       .bytes = std::move(frame),
                       .original_length = length});
  }

  bool Write(const std::string& folder) const {
    const std::vector<uint8_t> bytes = MakePcap({}, frames_);
    const std::string path = folder + "/" + name_ + ".pcap";
    std::FILE* file = std::fopen(path.c_str(), "wb");
    if (file == nullptr) return false;
    const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    return std::fclose(file) == 0 && written;
  }

 private:
  std::string name_;
  std::vector<CapturedFrame> frames_;
};

// The transport part for `opcode`; `n` makes its values distinct.
Frame& AddTransport(Frame& frame, uint8_t opcode, uint32_t n) {
  const uint16_t headers = wire::InfoOf(opcode).headers;
  frame.Bth({.opcode = opcode,
             .solicited_event = n % 2 == 1,
             .migration_request = n % 3 == 1,
             .partition_key = static_cast<uint16_t>(0x8000 + n),
             .fecn = n % 5 == 1,
             .becn = n % 7 == 1,
             .destination_qpn = {0xa00000 + n},
             .ack_request = n % 4 == 1,
             .psn = (0xfffff0 + n) & k24BitMask});
  if (headers & wire::kHasRdeth) frame.Rdeth({.ee_context = 0xb00000 + n});
  if (headers & wire::kHasDeth) {
    frame.Deth({.queue_key = 0x80010000 + n, .source_qpn = {0xc00000 + n}});
  }
  if (headers & wire::kHasXrceth) frame.Xrceth({.srq_number = 0xd00000 + n});
  if (headers & wire::kHasReth) {
    frame.Reth({.virtual_address = 0xfedcba9876540000 + n,
                .rkey = 0x80000000 + n,
                .dma_length = 0x40000000 + n});
  }
  if (headers & wire::kHasAtomicEth) {
    frame.AtomicEth({.virtual_address = 0x8edcba9876540000 + n,
                     .rkey = 0x90000000 + n,
                     .swap_or_add = 0xa000000000000000 + n,
                     .compare = 0xb000000000000000 + n});
  }
  if (headers & wire::kHasAeth) {
    frame.Aeth({.syndrome = static_cast<uint8_t>(n * 37 & 0x7f), .msn = 0xe00000 + n});
  }
  if (headers & wire::kHasAtomicAckEth) {
    frame.AtomicAckEth({.original_data = 0xc000000000000000 + n});
  }
  if (headers & wire::kHasImmDt) frame.ImmDt({.data = 0xd0000000 + n});
  if (headers & wire::kHasIeth) frame.Ieth({.rkey = 0xe0000000 + n});
  return frame;
}

Bytes Packet(Frame frame, uint8_t opcode, uint32_t n, size_t payload) {
  return AddTransport(frame, opcode, n).Payload(payload).Build();
}

Ip IpOf(uint32_t n) {
  return {.dscp = static_cast<uint8_t>(n * 5 % 64),
          .ecn = static_cast<uint8_t>(n % 4),
          .ttl = static_cast<uint8_t>(255 - n % 250),
          .identification = static_cast<uint16_t>(n),
          .flow_label = n};
}

uint16_t PortOf(uint32_t n) { return static_cast<uint16_t>(0xc000 + n); }  // an unassigned port

// Opcodes without payload, and opcodes with payload for each pad count.
void AddOpcodes(Capture& capture, const std::function<Frame(uint32_t)>& network,
                const std::function<bool(wire::Transport)>& wanted) {
  uint32_t n = 0;
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const wire::OpcodeInfo& info = wire::InfoOf(static_cast<uint8_t>(opcode));
    if (info.name.empty() || !wanted(info.transport)) continue;
    const bool carries = info.operation == wire::Operation::kSend ||
                         info.operation == wire::Operation::kWrite ||
                         info.operation == wire::Operation::kReadResponse;
    for (size_t payload = 0; payload < (carries ? 4u : 1u); ++payload, ++n) {
      const size_t size = opcode == wire::kOpcodeCnp ? 16 : carries ? 64 + payload : 0;
      capture.Add(Packet(network(n), static_cast<uint8_t>(opcode), n, size));
    }
  }
}

bool IsEstablished(wire::Transport transport) {
  return transport == wire::Transport::kRc || transport == wire::Transport::kUc ||
         transport == wire::Transport::kUd || transport == wire::Transport::kCnp;
}

Capture Transports() {
  Capture capture("transports");
  AddOpcodes(
      capture,
      [](uint32_t n) { return Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(n)).Udp(PortOf(n)); },
      IsEstablished);
  return capture;
}

Capture OtherTransports() {
  Capture capture("other_transports");
  AddOpcodes(
      capture,
      [](uint32_t n) { return Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(n)).Udp(PortOf(n)); },
      [](wire::Transport transport) { return !IsEstablished(transport); });
  return capture;
}

Capture Networks() {
  Capture capture("networks");
  uint32_t n = 0;
  for (const uint8_t opcode : {wire::kOpcodeWriteOnly, wire::kOpcodeAcknowledge}) {
    const auto add = [&](Frame frame) {
      capture.Add(Packet(std::move(frame), opcode, n, opcode == wire::kOpcodeWriteOnly ? 33 : 0));
      ++n;
    };
    const auto v4 = [&](Frame frame) {
      return frame.Ipv4("10.1.2.3", "10.4.5.6", IpOf(n)).Udp(PortOf(n));
    };
    add(v4(Frame().Eth().Vlan(5, 3)));
    add(v4(Frame().Eth().Vlan(4094, 7, wire::kEtherTypeServiceVlan).Vlan(17)));
    Ip options = IpOf(n);
    options.options = Bytes(8, 1);  // no-operation
    add(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", options).Udp(PortOf(n)));
    add(Frame().Eth().Ipv6("2001:db8::1", "2001:db8::2", IpOf(n)).Udp(PortOf(n)));
    add(Frame().Eth().Vlan(9).Ipv6("fd00::a", "fd00::b", IpOf(n)).Udp(PortOf(n)));
    add(Frame()
            .Eth()
            .Ipv6("2001:db8::1", "2001:db8::2", IpOf(n))
            .Ipv6Extension(wire::kIpProtocolHopByHop)
            .Ipv6Extension(wire::kIpProtocolDestinationOptions, 16)
            .Udp(PortOf(n)));
    add(Frame().Eth().Grh("fe80::1", "fe80::2", IpOf(n)));
    add(Frame().Eth().Vlan(12).Grh("::ffff:10.0.0.1", "::ffff:10.0.0.2", IpOf(n)));
    add(v4(Frame().Eth()).Trailer(6));
  }
  return capture;
}

Capture Management() {
  Capture capture("management");
  uint32_t n = 0;
  for (uint16_t attribute = 0x10; attribute <= 0x1a; ++attribute, ++n) {
    for (uint8_t transport = 0; transport < 2; ++transport, ++n) {
      capture.Add(RoceFrame("10.1.2.3", "10.4.5.6", IpOf(n))
                      .Bth({.opcode = wire::kOpcodeUdSendOnly,
                            .partition_key = 0xffff,
                            .destination_qpn = {1}})
                      .Deth({.queue_key = 0x80010000, .source_qpn = {1}})
                      .Cm({.attribute = static_cast<wire::CmAttribute>(attribute),
                           .transaction_id = 0x9000000000000000 + n,
                           .local_comm_id = 0x91000000 + n,
                           .remote_comm_id = 0x92000000 + n,
                           .local_qpn = {0x930000 + n},
                           .remote_qpn = {0x940000 + n},
                           .starting_psn = 0x950000 + n,
                           .service_id = 0x9600000000000000 + n,
                           .reason = static_cast<uint16_t>(0x20 + n),
                           .transport_service = transport,
                           .path_mtu = static_cast<uint8_t>(1 + n % 5)})
                      .Build());
    }
  }
  return capture;
}

Capture Mirrors() {
  Capture capture("mirrors");
  for (uint32_t n = 0; n < 12; ++n) {
    const uint8_t opcode = n % 2 == 0 ? wire::kOpcodeWriteFirst : wire::kOpcodeAcknowledge;
    const Bytes v4 = Packet(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(n)).Udp(PortOf(n)),
                            opcode, n, opcode == wire::kOpcodeWriteFirst ? 50 + n : 0);
    const Bytes v6 =
        Packet(Frame().Eth().Vlan(7).Ipv6("fd00::a", "fd00::b", IpOf(n)).Udp(PortOf(n)), opcode, n,
               opcode == wire::kOpcodeWriteFirst ? 50 + n : 0);
    const wire::Erspan3Header erspan3 = {
        .vlan = 3,
        .session = static_cast<uint16_t>(1000 + n),
        .timestamp = 0xf0000000 + n,
        .egress = n % 2 == 1,
        .granularity = static_cast<wire::ErspanGranularity>(n % 2),
    };
    for (const Bytes& frame : {v4, v6}) {
      capture.Add(InErspan1(frame));
      capture.Add(InErspan2(
          frame, {.vlan = 5, .session = static_cast<uint16_t>(n), .index = 0xfff00 + n}, 77 + n));
      capture.Add(InErspan3(frame, erspan3, 0xfffffff0 + n));
      wire::Erspan3Header precise = erspan3;
      precise.granularity = wire::ErspanGranularity::kIeee1588;
      precise.timestamp = 999'999'000 + n;
      capture.Add(InErspan3(frame, precise, 5 + n,
                            {.platform_id = 5, .info = 0x1170000 + n, .word = 1'714'564'790 + n}));
      capture.Add(InErspan3(frame, precise, 5 + n));  // without the seconds
      capture.Add(InErspan3(frame, erspan3, 6 + n, {.platform_id = 1, .word = 0x80000000 + n}));
      capture.Add(InErspan3(frame, erspan3, 7 + n, {.platform_id = 3, .info = 100 + n, .word = 3}));
      capture.Add(InErspan3(frame, erspan3, 8 + n, {.platform_id = 7, .info = 200 + n, .word = 3}));
      capture.Add(InGre(frame));
      capture.Add(InVxlan(frame, 5000 + n));
      capture.Add(InGeneve(frame, 0xfff000 + n));
      capture.Add(InErspan2(InVxlan(frame, 6000 + n), {.session = 9, .index = n}, n));
      capture.Add(InVxlan(InErspan2(frame, {.session = 10, .index = n}, n), 7000 + n));
      capture.Add(InGeneve(InErspan3(frame, precise, 9 + n), 8000 + n));
      // The collector's port is tagged.
      const auto tagged = [n] {
        return Frame().Eth().Vlan(static_cast<uint16_t>(2000 + n)).Ipv4("192.0.2.1", "192.0.2.100");
      };
      capture.Add(tagged().Gre().Encapsulated(frame).Build());
      capture.Add(tagged().Erspan2({.session = 11, .index = n}, n).Encapsulated(frame).Build());
    }
    // GRE without an Ethernet header: nothing shows that the original frame had a tag.
    capture.Add(Packet(Frame()
                           .Eth()
                           .Vlan(static_cast<uint16_t>(2000 + n))
                           .Ipv4("192.0.2.1", "192.0.2.100")
                           .Gre()
                           .Ipv4("10.1.2.3", "10.4.5.6", IpOf(n))
                           .Udp(PortOf(n)),
                       opcode, n, opcode == wire::kOpcodeWriteFirst ? 50 + n : 0));
  }
  return capture;
}

Capture Pause() {
  Capture capture("pause");
  for (uint16_t quantum : {0, 1, 0xffff}) {
    wire::PauseFrame pause = {.opcode = wire::kPauseOpcode};
    pause.quanta[0] = quantum;
    capture.Add(Frame().Eth().Pause(pause).Build());
    wire::PauseFrame pfc = {.class_enable = static_cast<uint16_t>(0x18 | quantum % 2)};
    for (uint16_t p = 0; p < 8; ++p) pfc.quanta[p] = static_cast<uint16_t>(quantum - p);
    capture.Add(Frame().Eth().Pause(pfc).Build());
  }
  return capture;
}

// UDP source ports that tshark assigns to other protocols: DNS, GTP-U, VXLAN, Geneve, sFlow.
Capture SourcePorts() {
  Capture capture("source_ports");
  for (const uint16_t port : {53, 2152, 4789, 6081, 6343}) {
    capture.Add(
        Packet(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(port)).Udp(port), 0x0a, port, 40));
  }
  return capture;
}

// Extended headers after the BTH: none, RETH, RETH and ImmDt, AETH, IETH, DETH.
constexpr uint8_t kHeaderMix[] = {wire::kOpcodeSendOnly,           wire::kOpcodeWriteOnly,
                                  wire::kOpcodeWriteOnlyImmediate, wire::kOpcodeReadResponseFirst,
                                  wire::kOpcodeSendOnlyInvalidate, wire::kOpcodeUdSendOnly};

// Complete headers with truncated payloads, as snap lengths leave them, then every length down to
// the IP header. With `whole`, the same frames untruncated.
Capture Snapped(bool whole) {
  Capture capture(whole ? "unsnapped" : "snapped");
  for (const uint8_t opcode : kHeaderMix) {
    const Bytes frame =
        Packet(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(opcode)).Udp(PortOf(opcode)), opcode,
               opcode, 512);
    for (const size_t size : {96, 128, 200}) capture.AddCut(frame, whole ? frame.size() : size);
    for (size_t size = 34; size < 90; ++size) capture.AddCut(frame, whole ? frame.size() : size);
  }
  return capture;
}

// Copies that the switch truncated before encapsulation: the capture contains everything that was
// sent.
Capture Truncated() {
  Capture capture("truncated");
  for (const uint8_t opcode : kHeaderMix) {
    Bytes frame =
        Packet(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(opcode)).Udp(PortOf(opcode)), opcode,
               opcode, 512);
    for (const size_t size : {200, 128, 100, 82, 70, 62, 54}) {
      frame.resize(size);
      capture.Add(frame);
      capture.Add(InErspan2(frame, {.truncated = true, .session = 4, .index = opcode}, opcode));
      capture.Add(InErspan3(frame, {.truncated = true, .session = 5}, opcode));
    }
  }
  return capture;
}

// SENDs that are shorter than the protocols that tshark assumes inside.
Capture ShortSends() {
  Capture capture("short_sends");
  for (uint32_t size = 0; size < 20; ++size) {
    capture.Add(Packet(Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", IpOf(size)).Udp(PortOf(size)),
                       0x04, size, size));
  }
  return capture;
}

// Frames to the RoCE port that decode rejects: reserved opcodes, another header version, later
// fragments, impossible lengths.
Capture Refused() {
  Capture capture("refused");
  const auto frame = [](const Ip& ip = {}) {
    return Frame().Eth().Ipv4("10.1.2.3", "10.4.5.6", ip).Udp(PortOf(1));
  };
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (!wire::InfoOf(static_cast<uint8_t>(opcode)).name.empty()) continue;
    capture.Add(frame().Bth({.opcode = static_cast<uint8_t>(opcode)}).Payload(32).Build());
  }
  for (uint8_t version = 1; version < 16; ++version) {
    capture.Add(frame()
                    .Bth({.opcode = wire::kOpcodeSendOnly, .transport_version = version})
                    .Payload(32)
                    .Build());
  }
  for (const uint16_t offset : {1, 100, 8000}) {
    capture.Add(
        frame({.fragment = offset}).Bth({.opcode = wire::kOpcodeSendOnly}).Payload(32).Build());
  }
  // A WRITE ONLY without its RETH.
  capture.Add(frame().Bth({.opcode = wire::kOpcodeWriteOnly}).Payload(4).Build());
  return capture;
}

int Run(const std::string& folder) {
  for (const Capture& capture :
       {Transports(), OtherTransports(), Networks(), Management(), Mirrors(), Pause(),
        SourcePorts(), Snapped(false), Snapped(true), Truncated(), ShortSends(), Refused()}) {
    if (!capture.Write(folder)) {
      fmt::print(stderr, "cannot write to {}\n", folder);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace rocescope::test

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: rocescope_tshark_captures FOLDER\n");
    return 2;
  }
  return rocescope::test::Run(argv[1]);
}
