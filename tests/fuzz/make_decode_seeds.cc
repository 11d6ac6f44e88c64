// SPDX-License-Identifier: BSD-3-Clause
// Writes the seeds of decode_fuzz.cc to a directory: one frame of each kind that the decoder
// supports.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "dataplane/wire/opcode.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

enum LinkSelector : uint8_t { kEthernet = 0, kRawIp = 1, kCooked = 2, kCooked2 = 5 };

Frame Write(Frame frame) {
  return frame.Bth({.opcode = wire::kOpcodeWriteOnlyImmediate, .destination_qpn = {9}, .psn = 77})
      .Reth({.virtual_address = 0x123456789a, .rkey = 5, .dma_length = 13})
      .ImmDt({.data = 6})
      .Payload(13);
}

class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}

  void Add(const std::string& name, const Bytes& frame, LinkSelector link = kEthernet) {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.put(static_cast<char>(link));
    file.write(reinterpret_cast<const char*>(frame.data()),
               static_cast<std::streamsize>(frame.size()));
    failed_ |= !file.good();
  }
  bool failed() const { return failed_; }

 private:
  std::filesystem::path folder_;
  bool failed_ = false;
};

void AddPackets(Seeds& seeds) {
  seeds.Add("ipv4_write", Write(RoceFrame()).Build());
  seeds.Add("ipv4_options",
            Write(RoceFrame("10.0.0.1", "10.0.0.2", {.options = {1, 1, 1, 0}})).Build());
  seeds.Add("ipv4_fragment",
            Write(RoceFrame("10.0.0.1", "10.0.0.2", {.fragment = 0x2000})).Build());
  seeds.Add(
      "qinq",
      Write(Frame().Eth().Vlan(9, 0, 0x88a8).Vlan(5).Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build());
  seeds.Add("ipv6", Write(Frame().Eth().Ipv6("fd00::1", "fd00::2").Udp()).Build());
  seeds.Add("ipv6_extensions", Write(Frame()
                                         .Eth()
                                         .Ipv6("fd00::1", "fd00::2")
                                         .Ipv6Extension(wire::kIpProtocolHopByHop)
                                         .Ipv6Extension(wire::kIpProtocolRouting)
                                         .Ipv6Fragment(0, false)
                                         .Udp())
                                   .Build());
  seeds.Add("roce_v1", Write(Frame().Eth().Grh("fe80::1", "fe80::2")).Build());
  seeds.Add("acknowledge",
            RoceFrame().Bth({.opcode = wire::kOpcodeAcknowledge}).Aeth({.msn = 1}).Build());
  seeds.Add("atomic", RoceFrame().Bth({.opcode = wire::kOpcodeCompareSwap}).AtomicEth({}).Build());
  seeds.Add("atomic_acknowledge", RoceFrame()
                                      .Bth({.opcode = wire::kOpcodeAtomicAcknowledge})
                                      .Aeth({})
                                      .AtomicAckEth({})
                                      .Build());
  seeds.Add("xrc_invalidate", RoceFrame().Bth({.opcode = 0xb7}).Xrceth({}).Ieth({}).Build());
  seeds.Add("rd_send", RoceFrame().Bth({.opcode = 0x44}).Rdeth({}).Deth({}).Build());
  seeds.Add("cnp", RoceFrame().Bth({.opcode = wire::kOpcodeCnp, .becn = true}).Payload(16).Build());
  seeds.Add("cm", RoceFrame()
                      .Bth({.opcode = wire::kOpcodeUdSendOnly, .destination_qpn = {1}})
                      .Deth({.queue_key = 0x80010000, .source_qpn = {1}})
                      .Cm({.local_qpn = {44}, .starting_psn = 45})
                      .Build());
  seeds.Add("pfc", Frame().Eth().Pause({.class_enable = 8}).Build());
  seeds.Add("pause", Frame().Eth().Pause({.opcode = wire::kPauseOpcode}).Build());
  seeds.Add("int_report",
            Frame().Eth().Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 32766).Payload(40).Build());
  seeds.Add("sflow", Frame().Eth().Ipv6("fd00::1", "fd00::2").Udp(1, 6343).Payload(40).Build());
  const Bytes shim = {0x14, 3, 0x12, 0xb7, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  const Bytes transport = Write(Frame()).Build();
  seeds.Add("int_md", Frame()
                          .Eth()
                          .Ipv4("10.0.0.1", "10.0.0.2")
                          .Udp(1, 555)
                          .Payload(shim)
                          .Payload(transport)
                          .Build());
  seeds.Add("cooked", Write(Frame().LinuxCooked().Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build(),
            kCooked);
  seeds.Add("cooked2", Write(Frame().LinuxCooked2().Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build(),
            kCooked2);
  seeds.Add("raw_ip", Write(Frame().Ipv6("fd00::1", "fd00::2").Udp()).Build(), kRawIp);
}

void AddMirrors(Seeds& seeds) {
  const Bytes write = Write(RoceFrame()).Build();
  seeds.Add("erspan1", InErspan1(write));
  seeds.Add("erspan2", InErspan2(write, {.session = 3, .index = 4}, 5));
  seeds.Add("erspan2_truncated",
            InErspan2(std::span(write).first(64), {.truncated = true, .session = 3}));
  seeds.Add("erspan3", InErspan3(write, {.session = 3, .timestamp = 6}, 5));
  for (uint8_t platform : {1, 3, 5, 7}) {
    seeds.Add(
        fmt::format("erspan3_platform{}", platform),
        InErspan3(write,
                  {.session = 3, .timestamp = 6, .granularity = wire::ErspanGranularity::kIeee1588},
                  5, {.platform_id = platform, .info = 1, .word = 2}));
  }
  seeds.Add("gre", InGre(write));
  seeds.Add("vxlan", InVxlan(write, 7));
  seeds.Add("geneve", InGeneve(write, 8, Bytes(8, 1)));
  seeds.Add("three_tunnels", InErspan2(InVxlan(InGeneve(write, 6), 7), {.session = 8}));
}

}  // namespace
}  // namespace rocescope::test

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: make_decode_seeds FOLDER\n");
    return 2;
  }
  rocescope::test::Seeds seeds(argv[1]);
  rocescope::test::AddPackets(seeds);
  rocescope::test::AddMirrors(seeds);
  if (!seeds.failed()) return 0;
  fmt::print(stderr, "make_decode_seeds: cannot write to {}; does the directory exist?\n", argv[1]);
  return 1;
}
