// SPDX-License-Identifier: BSD-3-Clause
// Both are meant for two threads: the tsan preset runs these too.
#include "dataplane/pipeline/record_exchange.h"

#include <gtest/gtest.h>

#include <thread>

#include "dataplane/pipeline/published.h"

namespace rocescope {
namespace {

using WhenFull = RecordExchange::WhenFull;

TEST(SpscRing, KeepsTheOrderAndSaysWhenItIsFull) {
  SpscRing<int, 4> ring;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.TryPush(i));
  EXPECT_FALSE(ring.TryPush(4));
  EXPECT_EQ(ring.TryPop(), 0);
  EXPECT_TRUE(ring.TryPush(4));
  for (int i = 1; i <= 4; ++i) EXPECT_EQ(ring.TryPop(), i);
  EXPECT_EQ(ring.TryPop(), std::nullopt);
}

TEST(SpscRing, TakesAndGivesWhatFitsOfMany) {
  SpscRing<int, 4> ring;
  EXPECT_EQ(ring.Push(std::array{1, 2, 3}), 3u);
  EXPECT_EQ(ring.Push(std::array{4, 5, 6}), 1u);
  std::array<int, 3> values{};
  EXPECT_EQ(ring.Pop(values), 3u);
  EXPECT_EQ(values, (std::array{1, 2, 3}));
  EXPECT_EQ(ring.Pop(values), 1u);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(ring.Pop(values), 0u);
}

TEST(SpscRing, LosesNothingBetweenTwoThreads) {
  constexpr int kValues = 200'000;
  SpscRing<int, 64> ring;
  std::thread pusher([&] {
    for (int i = 0; i < kValues;) {
      if (ring.TryPush(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  int expected = 0;
  while (expected < kValues) {
    const std::optional<int> value = ring.TryPop();
    if (!value) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(*value, expected++);
  }
  pusher.join();
}

TEST(RecordExchange, GivesTheLcoreAnEmptyBatchForAFullOne) {
  RecordExchange exchange(16);
  exchange.current().flows.resize(3);
  exchange.HandOver(FromNanoseconds(5), WhenFull::kKeep);
  EXPECT_TRUE(exchange.current().empty());
  EXPECT_EQ(exchange.handed_over(), 3u);
  ExchangedBatch* const taken = exchange.Take();
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->size(), 3u);
  EXPECT_EQ(taken->reached, FromNanoseconds(5));
  EXPECT_EQ(exchange.Take(), nullptr);
}

TEST(RecordExchange, KeepsAndThenDropsWhatTheReaderDoesNotTake) {
  RecordExchange exchange(3);
  for (size_t i = 1; i < RecordExchange::kBatches; ++i) {
    exchange.current().flows.resize(3);
    exchange.HandOver({}, WhenFull::kKeep);
  }
  exchange.current().flows.resize(2);
  exchange.HandOver({}, WhenFull::kKeep);
  EXPECT_EQ(exchange.current_size(), 2u);
  EXPECT_EQ(exchange.dropped(), 0u);
  exchange.current().flows.resize(3);
  exchange.HandOver({}, WhenFull::kKeep);
  EXPECT_EQ(exchange.current_size(), 0u);
  EXPECT_EQ(exchange.dropped(), 3u);
}

// A reader that is busy for a while costs the batches of that while, be they small.
TEST(RecordExchange, KeepsHalfOfTheBatchesForFullOnes) {
  RecordExchange exchange(16);
  for (size_t i = 0; i < 2 * RecordExchange::kBatches; ++i) {
    if (exchange.current_size() < 15) exchange.current().flows.push_back({});
    exchange.HandOver({}, WhenFull::kKeep);
  }
  EXPECT_EQ(exchange.handed_over(), RecordExchange::kBatches / 2);
  EXPECT_EQ(exchange.current_size(), 15u);
  exchange.current().flows.push_back({});
  exchange.HandOver({}, WhenFull::kKeep);
  EXPECT_EQ(exchange.handed_over(), RecordExchange::kBatches / 2 + 16);
  EXPECT_EQ(exchange.dropped(), 0u);
}

TEST(RecordExchange, GoesOnWhenTheReaderGivesABatchBack) {
  RecordExchange exchange(16);
  for (size_t i = 1; i < RecordExchange::kBatches; ++i) exchange.HandOver({}, WhenFull::kWait);
  exchange.current().flows.resize(2);
  exchange.GiveBack(exchange.Take());
  exchange.HandOver({}, WhenFull::kWait);
  EXPECT_EQ(exchange.current_size(), 0u);
  EXPECT_EQ(exchange.handed_over(), 2u);
}

TEST(RecordExchange, DoesNotWaitForAReaderThatIsGone) {
  RecordExchange exchange(16);
  exchange.Abandon();
  for (size_t i = 0; i < 2 * RecordExchange::kBatches; ++i) {
    exchange.HandOver({}, WhenFull::kWait);
  }
  EXPECT_NE(exchange.Take(), nullptr);
}

TEST(RecordExchange, CarriesEveryRecordBetweenTwoThreads) {
  constexpr uint32_t kRecords = 50'000;
  RecordExchange exchange(kRecords);  // none is ever full, so none is dropped
  std::thread lcore([&] {
    for (uint32_t i = 0; i < kRecords; ++i) {
      exchange.current().flows.push_back({.first_request_psn = i});
      if (i % 32 == 0) exchange.HandOver({}, WhenFull::kKeep);
    }
    exchange.HandOver({}, WhenFull::kWait);
  });
  uint32_t next = 0;
  while (next < kRecords) {
    ExchangedBatch* const batch = exchange.Take();
    if (batch == nullptr) {
      std::this_thread::yield();
      continue;
    }
    for (const FlowRecord& record : batch->records.flows) {
      ASSERT_EQ(record.first_request_psn, next++);
    }
    exchange.GiveBack(batch);
  }
  lcore.join();
}

TEST(Published, IsReadAsAWhole) {
  struct Pair {
    uint64_t value = 0;
    std::array<uint64_t, 30> copies{};
  };
  Published<Pair> published;
  std::atomic<bool> stop = false;
  std::thread owner([&] {
    for (uint64_t i = 1; !stop; ++i) {
      Pair pair{.value = i};
      pair.copies.fill(i);
      published.Publish(pair);
    }
  });
  uint64_t last = 0;
  for (int reads = 0; reads < 20'000; ++reads) {
    const Pair pair = published.Read();
    ASSERT_GE(pair.value, last);
    for (const uint64_t copy : pair.copies) ASSERT_EQ(copy, pair.value);
    last = pair.value;
  }
  stop = true;
  owner.join();
}

}  // namespace
}  // namespace rocescope
