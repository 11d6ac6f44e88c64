// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/grpc/handler_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rocescope {
namespace {

using testing::ElementsAre;

constexpr auto kNever = [] { return false; };

TEST(HandlerSlots, HandlersBeyondTheMaximumWait) {
  HandlerSlots slots(2);
  std::optional<HandlerSlots::Slot> first = slots.Take("a", kNever);
  const auto second = slots.Take("a", kNever);
  EXPECT_EQ(slots.Take("a", [] { return true; }), std::nullopt);
  first.reset();
  EXPECT_TRUE(slots.Take("a", kNever));
}

TEST(HandlerSlots, CancelledCallsLeaveTheQueue) {
  HandlerSlots slots(1);
  std::optional<HandlerSlots::Slot> only = slots.Take("a", kNever);
  EXPECT_EQ(slots.Take("b", [] { return true; }), std::nullopt);
  EXPECT_EQ(slots.waiting(), 0u);
  only.reset();
  EXPECT_TRUE(slots.Take("a", kNever));
}

TEST(HandlerSlots, TheClientWithTheFewestHandlersIsNextAndThenTheFirst) {
  HandlerSlots slots(2);
  std::optional<HandlerSlots::Slot> first = slots.Take("greedy", kNever);
  const auto second = slots.Take("greedy", kNever);
  std::vector<std::string> order;  // each thread adds its client while it has the only free slot
  std::vector<std::thread> threads;
  for (const char* const client : {"greedy", "greedy", "modest", "other"}) {
    threads.emplace_back([&, client] {
      const auto slot = slots.Take(client, kNever);
      order.emplace_back(client);
    });
    while (slots.waiting() < threads.size()) std::this_thread::yield();
  }
  first.reset();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(order, ElementsAre("modest", "other", "greedy", "greedy"));
}

}  // namespace
}  // namespace rocescope
