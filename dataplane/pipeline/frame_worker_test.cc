// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/frame_worker.h"

#include <gtest/gtest.h>

#include "tests/support/frame_builder.h"

namespace rocescope::test {
namespace {

constexpr Timestamp At(int64_t ms) {
  return FromNanoseconds(1'700'000'000'000'000'000 + ms * 1'000'000);
}

FrameWorker::Options OptionsOf(bool our_clock) {
  return {.processor = {.flow_table = {.capacity = 64, .interval = std::chrono::milliseconds(100)},
                        .captures = {"leaf1"}},
          .our_clock = our_clock};
}

// One RoCE packet.
struct OnePacket {
  Bytes bytes = Frame()
                    .Eth()
                    .Ipv4("192.0.2.1", "192.0.2.2")
                    .Udp(50000, 4791)
                    .Bth({.opcode = 0x04, .destination_qpn = {7}, .psn = 1})
                    .Payload(64)
                    .Build();
  RawFrame frame = {
      .bytes = bytes, .original_length = static_cast<uint32_t>(bytes.size()), .timestamp = At(0)};
};

size_t FlowRecordsIn(FrameWorker& worker) {
  size_t count = 0;
  while (ExchangedBatch* batch = worker.records().Take()) {
    count += batch->records.flows.size();
    worker.records().GiveBack(batch);
  }
  return count;
}

TEST(FrameWorker, ClosesIntervalsBySystemClockAfterOneSecond) {
  FrameWorker worker(OptionsOf(true));
  const OnePacket packet;
  worker.Process({&packet.frame, 1});
  worker.RunHousekeeping(At(1050));
  EXPECT_EQ(FlowRecordsIn(worker), 0u);
  worker.RunHousekeeping(At(1150));
  EXPECT_EQ(FlowRecordsIn(worker), 1u);
}

TEST(FrameWorker, AdvancesOnlyByFramesWithoutSystemClock) {
  FrameWorker worker(OptionsOf(false));
  const OnePacket packet;
  worker.Process({&packet.frame, 1});
  worker.RunHousekeeping(At(100'000));
  EXPECT_EQ(FlowRecordsIn(worker), 0u);
  worker.Finish();
  EXPECT_EQ(FlowRecordsIn(worker), 1u);
}

TEST(FrameWorker, ReportsReachedTime) {
  FrameWorker worker(OptionsOf(true));
  const auto reached = [&] {
    ExchangedBatch* batch = worker.records().Take();
    const Timestamp at = batch->reached;
    worker.records().GiveBack(batch);
    return at;
  };
  const OnePacket packet;
  worker.Process({&packet.frame, 1});
  worker.RunHousekeeping(At(10));
  EXPECT_EQ(reached(), At(0));  // time of the packet
  worker.RunHousekeeping(At(5000));
  EXPECT_EQ(reached(), At(4000));  // no frames since
}

TEST(FrameWorker, HandlesClockThatIsSetBack) {
  FrameWorker worker(OptionsOf(true));
  const auto reached = [&] {
    ExchangedBatch* batch = worker.records().Take();
    const Timestamp at = batch->reached;
    worker.records().GiveBack(batch);
    return at;
  };
  const OnePacket packet;
  worker.Process({&packet.frame, 1});
  worker.RunHousekeeping(At(10));
  EXPECT_EQ(reached(), At(0));
  constexpr int64_t kHour = 3'600'000;
  worker.RunHousekeeping(At(-kHour));
  EXPECT_EQ(reached(), At(-kHour));
  worker.RunHousekeeping(At(-kHour + 500));
  EXPECT_EQ(reached(), At(-kHour + 500));
  worker.RunHousekeeping(At(5000));
  EXPECT_EQ(reached(), At(4000)) << "it has caught up";
}

// One mirrored copy of a packet in this session.
struct OneCopy {
  explicit OneCopy(uint16_t session) : bytes(InErspan2(OnePacket().bytes, {.session = session})) {}
  Bytes bytes;
  RawFrame frame = {
      .bytes = bytes, .original_length = static_cast<uint32_t>(bytes.size()), .timestamp = At(0)};
};

TEST(FrameWorker, ReportsLastActivityOfSenders) {
  FrameWorker worker(OptionsOf(true));
  const OneCopy one(1);
  const OneCopy three(3);
  const OneCopy two(2);
  worker.Process({&one.frame, 1});
  worker.Process({&three.frame, 1});
  constexpr int64_t kBeat = 50;
  int64_t now = 0;
  const auto let_pass = [&](int beats) {
    for (int i = 0; i < beats; ++i) worker.RunHousekeeping(At(now += kBeat));
  };
  let_pass(40);
  worker.Process({&three.frame, 1});
  worker.Process({&two.frame, 1});
  let_pass(40);
  const Senders senders = worker.LastSenders();
  ASSERT_EQ(senders.mirrors.size(), 3u);
  EXPECT_LE(senders.mirrors[0].last_received, At(1100)) << "no frames of session 1 since";
  EXPECT_GT(senders.mirrors[1].last_received, At(2000));
  EXPECT_LE(senders.mirrors[1].last_received, At(3100));
  EXPECT_EQ(senders.mirrors[2].last_received, senders.mirrors[1].last_received);
}

TEST(FrameWorker, PublishesCounters) {
  FrameWorker worker(OptionsOf(true));
  const OnePacket packet;
  worker.CountArrived({&packet.frame, 1});
  worker.Process({&packet.frame, 1});
  worker.SetMissed(3);
  EXPECT_EQ(worker.Statistics().frames.ledger.received, 0u);
  worker.RunHousekeeping(At(0));
  const SourceStatistics statistics = worker.Statistics();
  EXPECT_EQ(statistics.frames.ledger.received, 1u);
  EXPECT_EQ(statistics.frames.ledger.decoded, 1u);
  EXPECT_EQ(statistics.bytes, packet.bytes.size());
  EXPECT_EQ(statistics.missed, 3u);
  EXPECT_EQ(statistics.last_arrival, At(0));
}

}  // namespace
}  // namespace rocescope::test
