// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/ethernet.h"

#include <gtest/gtest.h>

#include "dataplane/wire/pause.h"
#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

using test::ExpectGolden;
using test::ExpectShortReadsFail;

TEST(Ethernet, MatchesIeee8023) {
  const std::vector<uint8_t> golden = {
      0x02, 0x11, 0x22, 0x33, 0x44, 0x55,  // destination
      0x04, 0x66, 0x77, 0x88, 0x99, 0xaa,  // source
      0x08, 0x00,                          // EtherType: IPv4
  };
  ExpectGolden(
      EthernetHeader{
          .destination = 0x021122334455, .source = 0x0466778899aa, .ether_type = kEtherTypeIpv4},
      golden);
  ExpectShortReadsFail<EthernetHeader>(golden);
}

TEST(VlanTag, MatchesIeee8021Q) {
  const std::vector<uint8_t> golden = {
      0b101'1'0110, 0x7b,  // PCP 5, DEI 1, VID 0x67b = 1659
      0x86, 0xdd,          // EtherType: IPv6
  };
  ExpectGolden(
      VlanTag{.priority = 5, .drop_eligible = true, .id = 1659, .ether_type = kEtherTypeIpv6},
      golden);
  ExpectShortReadsFail<VlanTag>(golden);
}

TEST(LinuxCooked, MatchesLinkType113) {
  const std::vector<uint8_t> golden = {
      0x00, 0x04,                                      // packet type: sent by us
      0x00, 0x00,                                      // ARPHRD type
      0x00, 0x00,                                      // address length
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // address
      0x08, 0x00,                                      // protocol
  };
  ExpectGolden(LinuxCookedHeader{.packet_type = 4, .ether_type = kEtherTypeIpv4}, golden);
  ExpectShortReadsFail<LinuxCookedHeader>(golden);
}

TEST(LinuxCooked2, MatchesLinkType276) {
  const std::vector<uint8_t> golden = {
      0x86, 0xdd,                                      // protocol
      0x00, 0x00,                                      // reserved
      0x00, 0x00, 0x01, 0x02,                          // interface index
      0x00, 0x00,                                      // ARPHRD type
      0x00,                                            // packet type
      0x00,                                            // address length
      0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // address
  };
  ExpectGolden(LinuxCooked2Header{.ether_type = kEtherTypeIpv6, .interface_index = 0x102}, golden);
  ExpectShortReadsFail<LinuxCooked2Header>(golden);
}

TEST(Pause, MatchesPriorityFlowControl) {
  const std::vector<uint8_t> golden = {
      0x01, 0x01,              // opcode: PFC
      0x00, 0x18,              // class enable vector: priorities 3 and 4
      0x00, 0x00, 0x00, 0x00,  // times of priorities 0 and 1
      0x00, 0x00, 0xff, 0xff,  // 2 and 3
      0x00, 0x01, 0x00, 0x00,  // 4 and 5
      0x00, 0x00, 0x00, 0x00,  // 6 and 7
  };
  ExpectGolden(
      PauseFrame{
          .opcode = kPfcOpcode, .class_enable = 0x18, .quanta = {0, 0, 0, 0xffff, 1, 0, 0, 0}},
      golden);
  ExpectShortReadsFail<PauseFrame>(golden);
}

TEST(Pause, MatchesAnnex31B) {
  const std::vector<uint8_t> golden = {
      0x00, 0x01,  // opcode: PAUSE
      0x12, 0x34,  // pause time
  };
  ExpectGolden(PauseFrame{.opcode = kPauseOpcode, .quanta = {0x1234}}, golden);
  ExpectShortReadsFail<PauseFrame>(golden);
}

}  // namespace
}  // namespace rocescope::wire
