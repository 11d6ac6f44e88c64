// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/tcp.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

TEST(Tcp, MatchesRfc9293) {
  const std::vector<uint8_t> golden = {
      0xc0, 0x01,              // source port 49153
      0x14, 0x51,              // destination port 5201
      0x00, 0x00, 0x05, 0xb4,  // sequence number 1460
      0x00, 0x00, 0x00, 0x2a,  // acknowledgement number 42
      0x50,                    // data offset 5 words
      0x18,                    // PSH, ACK
      0x02, 0x00,              // window 512
      0xbe, 0xef,              // checksum
      0x00, 0x07,              // urgent pointer
  };
  test::ExpectGolden(TcpHeader{.source_port = 49'153,
                               .destination_port = 5201,
                               .sequence = 1460,
                               .acknowledgement = 42,
                               .flags = kTcpPush | kTcpAck,
                               .window = 512,
                               .checksum = 0xbeef,
                               .urgent = 7},
                     golden);
  test::ExpectShortReadsFail<TcpHeader>(golden);
}

// The example of RFC 1071, section 3: 0001 + f203 + f4f5 + f6f7 = 2ddf0, folded to ddf2.
TEST(Tcp, ChecksumMatchesRfc1071) {
  const std::vector<uint8_t> bytes = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(AddWords(0, bytes), 0x2ddf0u);
  EXPECT_EQ(FoldedChecksum(AddWords(0, bytes)), static_cast<uint16_t>(~0xddf2));
  EXPECT_EQ(AddWords(0, std::vector<uint8_t>{0x12, 0x34, 0x56}), 0x1234u + 0x5600u);
}

}  // namespace
}  // namespace rocescope::wire
