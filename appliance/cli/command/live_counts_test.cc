// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/live_counts.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

LiveCounts Received(uint64_t frames, uint64_t bytes) {
  LiveCounts counts;
  counts.frames.ledger = {.received = frames, .decoded = frames};
  counts.bytes = bytes;
  return counts;
}

TEST(LiveLine, PrintsRatesAndTheLedger) {
  LiveCounts now = Received(3'000'000, 2'500'000'000);
  now.frames.ledger.decoded -= 6;
  now.frames.ledger.filtered = 1;
  now.frames.ledger.dropped[static_cast<size_t>(DropReason::kNotRoce)] = 3;
  now.frames.ledger.dropped[static_cast<size_t>(DropReason::kBadIp)] = 2;
  now.flows = 12;
  now.records = 34'567;
  now.mbufs_in_use = 0.123;
  // 2 M frames in 2 s, and 1.25 GB in each of them.
  EXPECT_EQ(LiveLine(Received(1'000'000, 0), now, std::chrono::seconds(2)),
            "1.00 M frames/s, 10.00 Gbit/s; received 3,000,000 = decoded 2,999,994 + filtered 1 + "
            "not RoCE 3 + dropped 2; 12 flows, 34,567 records; mbufs 12 %");
}

TEST(LiveLine, PrintsLossesOnlyIfThereAreAny) {
  LiveCounts now = Received(10, 0);
  now.missed = 1'234;
  now.records_dropped = 7;
  EXPECT_EQ(LiveLine({}, now, std::chrono::seconds(1)),
            "10 frames/s, 0 bit/s; received 10 = decoded 10 + filtered 0 + not RoCE 0 + "
            "dropped 0; 0 flows, 0 "
            "records; mbufs 0 %; 1,234 missed by the NIC; 7 records lost");
}

TEST(LiveLine, HasNoRateInNoTimeNorOfCountersThatWereReset) {
  EXPECT_EQ(LiveLine(Received(20, 0), Received(10, 0), Duration::zero()).substr(0, 10),
            "0 frames/s");
}

}  // namespace
}  // namespace rocescope
