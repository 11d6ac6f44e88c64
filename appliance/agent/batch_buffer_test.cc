// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/batch_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kPlenty = 1 << 20;

std::vector<std::string> SentAfter(BatchBuffer& buffer, uint64_t sequence) {
  std::vector<std::string> sent;
  while (const auto batch = buffer.After(sequence, std::chrono::milliseconds(0))) {
    EXPECT_GT(batch->sequence, sequence);
    sequence = batch->sequence;
    sent.push_back(batch->bytes);
  }
  return sent;
}

TEST(BatchBuffer, HandsOutInOrder) {
  BatchBuffer buffer(kPlenty);
  buffer.Append(BatchKind::kLogs, "a");
  buffer.Append(BatchKind::kCounters, "b");
  EXPECT_EQ(buffer.After(0, std::chrono::milliseconds(0))->sequence, 1u);
  EXPECT_THAT(SentAfter(buffer, 0), ElementsAre("a", "b"));
  EXPECT_THAT(SentAfter(buffer, 1), ElementsAre("b"));
}

TEST(BatchBuffer, ResendsLogsAndStatesAfterARestart) {
  BatchBuffer buffer(kPlenty);
  buffer.Append(BatchKind::kLogs, "log");
  buffer.Append(BatchKind::kQueuePairs, "queue pairs");
  buffer.Append(BatchKind::kCounters, "taken counters");
  buffer.Append(BatchKind::kMark, "mark");
  buffer.Take(4);
  buffer.Append(BatchKind::kCounters, "counters");
  buffer.Begin(0);
  EXPECT_THAT(SentAfter(buffer, 0), ElementsAre("log", "queue pairs", "mark", "counters"));
  EXPECT_FALSE(buffer.WaitUntilTaken(std::chrono::milliseconds(0)));
  buffer.Take(5);
  EXPECT_TRUE(buffer.WaitUntilTaken(std::chrono::milliseconds(0)));
}

TEST(BatchBuffer, KeepsTheNewestStateOfAKind) {
  BatchBuffer buffer(kPlenty);
  buffer.Append(BatchKind::kQueuePairs, "old");
  buffer.Append(BatchKind::kInventory, "devices");
  buffer.Append(BatchKind::kQueuePairs, "new");
  EXPECT_THAT(SentAfter(buffer, 0), ElementsAre("devices", "new"));
  EXPECT_EQ(buffer.counts().lost_batches, 0u) << "the new state replaces it";
}

TEST(BatchBuffer, EvictsOldestCountersFirst) {
  BatchBuffer buffer(4 * 164 + 10);  // four batches of 100 bytes
  const auto content = [](char letter) { return std::string(100, letter); };
  buffer.Append(BatchKind::kLogs, content('a'));
  buffer.Append(BatchKind::kCounters, content('b'));
  buffer.Append(BatchKind::kCounters, content('c'));
  buffer.Append(BatchKind::kLogs, content('d'));
  buffer.Append(BatchKind::kLogs, content('e'));
  EXPECT_THAT(SentAfter(buffer, 0),
              ElementsAre(content('a'), content('c'), content('d'), content('e')));
  buffer.Append(BatchKind::kCounters, content('f'));
  buffer.Append(BatchKind::kLogs, content('g'));
  buffer.Append(BatchKind::kLogs, content('h'));
  EXPECT_THAT(SentAfter(buffer, 0),
              ElementsAre(content('d'), content('e'), content('g'), content('h')));
  EXPECT_EQ(buffer.counts().lost_batches, 4u);
  EXPECT_EQ(buffer.counts().lost_bytes, 400u);
  EXPECT_LE(buffer.counts().buffered_bytes, 4 * 164u);
}

TEST(BatchBuffer, AcknowledgedBatchesAreForgottenNotLost) {
  BatchBuffer buffer(2 * 164);
  buffer.Append(BatchKind::kLogs, std::string(100, 'a'));
  buffer.Take(1);
  buffer.Append(BatchKind::kLogs, std::string(100, 'b'));
  buffer.Append(BatchKind::kLogs, std::string(100, 'c'));
  EXPECT_EQ(buffer.counts().discarded_batches, 1u);
  EXPECT_EQ(buffer.counts().lost_batches, 0u);
}

TEST(BatchBuffer, StatesReduceTheSpaceForLogs) {
  BatchBuffer buffer(16'000);
  EXPECT_TRUE(buffer.HasSpaceForLogs(4'000));
  buffer.Append(BatchKind::kQueuePairs, std::string(11'000, 'q'));
  EXPECT_FALSE(buffer.HasSpaceForLogs(4'000));
  EXPECT_TRUE(buffer.HasSpaceForLogs(3'000));
}

TEST(BatchBuffer, AcknowledgedLogsAreNotLostIfTheApplianceStartsAgain) {
  BatchBuffer buffer(4'000);
  for (int i = 0; i < 3; ++i) buffer.Append(BatchKind::kLogs, std::string(1'200, 'l'));
  buffer.Take(3);
  buffer.Begin(0);
  buffer.Append(BatchKind::kCounters, std::string(900, 'c'));
  EXPECT_EQ(buffer.counts().lost_batches, 0u);
}

TEST(BatchBuffer, HasSpaceForLogsUntilThreeQuartersAreNotAcknowledged) {
  BatchBuffer buffer(4 * 164);
  EXPECT_TRUE(buffer.HasSpaceForLogs(0));
  for (int i = 0; i < 2; ++i) buffer.Append(BatchKind::kLogs, std::string(100, 'a'));
  EXPECT_TRUE(buffer.HasSpaceForLogs(163));
  EXPECT_FALSE(buffer.HasSpaceForLogs(164));
  buffer.Append(BatchKind::kLogs, std::string(100, 'a'));
  EXPECT_FALSE(buffer.HasSpaceForLogs(0));
  buffer.Take(1);
  EXPECT_TRUE(buffer.HasSpaceForLogs(0));
  buffer.Begin(0);
  EXPECT_FALSE(buffer.HasSpaceForLogs(0)) << "a restarted appliance needs them again";
  buffer.Take(3);
  EXPECT_TRUE(buffer.HasSpaceForLogs(3 * 164 - 1));
}

TEST(BatchBuffer, DiscardsAcknowledgedLogsBeforeCounters) {
  BatchBuffer buffer(8 * 164);
  for (int i = 0; i < 8; ++i) buffer.Append(BatchKind::kLogs, std::string(100, 'a'));
  buffer.Take(8);
  for (int i = 0; i < 2; ++i) buffer.Append(BatchKind::kCounters, std::string(100, 'b'));
  EXPECT_EQ(buffer.counts().lost_batches, 0u);
  EXPECT_EQ(buffer.counts().discarded_batches, 2u);
  buffer.Append(BatchKind::kCounters, std::string(100, 'c'));
  EXPECT_EQ(buffer.counts().lost_batches, 1u) << "three quarters of the buffer are for logs";
}

TEST(BatchBuffer, SendsABatchLargerThanTheBuffer) {
  BatchBuffer buffer(100);
  buffer.Append(BatchKind::kCounters, "a");
  buffer.Append(BatchKind::kQueuePairs, std::string(500, 'q'));
  EXPECT_THAT(SentAfter(buffer, 0), ElementsAre(std::string(500, 'q')));
}

TEST(BatchBuffer, DropsABatchAboveTheMessageLimit) {
  BatchBuffer buffer(16 * kPlenty);
  buffer.Append(BatchKind::kProcesses, "before");
  buffer.Append(BatchKind::kProcesses, std::string(BatchBuffer::kLargest + 1, 'p'));
  buffer.Append(BatchKind::kCounters, std::string(BatchBuffer::kLargest, 'c'));
  EXPECT_THAT(SentAfter(buffer, 0), ElementsAre("before", std::string(BatchBuffer::kLargest, 'c')));
  EXPECT_EQ(buffer.counts().too_large, 1u);
  EXPECT_EQ(buffer.counts().lost_batches, 1u);
  EXPECT_EQ(buffer.counts().lost_bytes, BatchBuffer::kLargest + 1);
}

TEST(BatchBuffer, IgnoresAcknowledgementsOfUnsentBatches) {
  BatchBuffer buffer(kPlenty);
  buffer.Append(BatchKind::kLogs, "a");
  buffer.Take(99);
  buffer.Append(BatchKind::kLogs, "b");
  EXPECT_THAT(SentAfter(buffer, buffer.counts().taken), ElementsAre("b"));
}

}  // namespace
}  // namespace rocescope
