// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/wire/clear_to_send.h"

#include <gtest/gtest.h>

#include "tests/support/golden.h"

namespace rocescope::wire {
namespace {

TEST(ClearToSend, MatchesTheMemoryOfAnX86Host) {
  const std::vector<uint8_t> golden = {
      0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // uint64_t addr
      0x00, 0x00, 0x08, 0x00,                          // int size: 512 kB
      0xef, 0xbe, 0xad, 0xde,                          // uint32_t rkey
      0x01, 0x00, 0x00, 0x00,                          // uint32_t nreqs
      0x05, 0x00, 0x00, 0x00,                          // uint32_t tag
      0x2a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // uint64_t idx
  };
  test::ExpectGolden(ClearToSend{.address = 0x1122334455667788,
                                 .length = 512u << 10,
                                 .rkey = 0xdeadbeef,
                                 .tag = 5,
                                 .index = 42},
                     golden);
  test::ExpectShortReadsFail<ClearToSend>(golden);
}

}  // namespace
}  // namespace rocescope::wire
