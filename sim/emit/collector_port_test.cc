// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/collector_port.h"

#include <gtest/gtest.h>

#include "sim/emit/memory_sink.h"

namespace rocescope::sim {
namespace {

constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;

// 10 Gb/s: a frame of 1226 octets, 1250 on the wire, takes 1 us.
CollectorPortOptions TenGigabit() {
  return {.clock = {.epoch = FromNanoseconds(kEpochNs)},
          .bits_per_second = 10'000'000'000,
          .queue_bytes = 2 * 1250,
          .delay = 3 * kMicrosecond};
}

bool Send(CollectorPort& port, SimTime now) {
  if (port.Begin(now, 1226).empty()) return false;
  port.End();
  return true;
}

TEST(CollectorPort, FramesComeOneBehindTheOther) {
  MemorySink sink;
  CollectorPort port(TenGigabit(), sink);
  EXPECT_TRUE(Send(port, 0));
  EXPECT_TRUE(Send(port, 0));
  EXPECT_TRUE(Send(port, 10 * kMicrosecond));
  ASSERT_EQ(sink.frames().size(), 3u);
  EXPECT_EQ(ToNanoseconds(sink.frames()[0].arrival), kEpochNs + 4000);
  EXPECT_EQ(ToNanoseconds(sink.frames()[1].arrival), kEpochNs + 5000);
  EXPECT_EQ(ToNanoseconds(sink.frames()[2].arrival), kEpochNs + 14000);
}

TEST(CollectorPort, AQueueOfTwoFramesLosesTheFourthAtOnce) {
  MemorySink sink;
  CollectorPort port(TenGigabit(), sink);
  EXPECT_TRUE(Send(port, 0));  // on the wire
  EXPECT_TRUE(Send(port, 0));
  EXPECT_TRUE(Send(port, 0));
  EXPECT_FALSE(Send(port, 0));
  EXPECT_TRUE(Send(port, kMicrosecond));  // one has left meanwhile
  EXPECT_EQ(port.counts().frames, 4u);
  EXPECT_EQ(port.counts().lost, 1u);
  EXPECT_EQ(port.counts().bytes, 4u * 1226);
}

}  // namespace
}  // namespace rocescope::sim
