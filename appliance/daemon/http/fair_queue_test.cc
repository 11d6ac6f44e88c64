// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/http/fair_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

class FairQueueTest : public testing::Test {
 protected:
  void Add(const std::string& peer, const std::string& request) {
    queue_.Add(peer, [this, request] { handled_ += request + " "; });
  }
  // Handles all requests that may be served, and returns their order.
  std::string Handled() {
    handled_.clear();
    while (const auto handle = queue_.Next()) handle();
    return handled_;
  }

  FairQueue queue_{100};
  std::string handled_;
};

TEST_F(FairQueueTest, PeersTakeTurns) {
  for (const char* request : {"a1", "a2", "a3"}) Add("a", request);
  Add("b", "b1");
  for (const char* request : {"c1", "c2"}) Add("c", request);
  EXPECT_EQ(Handled(), "a1 b1 c1 a2 c2 a3 ");
  Add("a", "a4");
  EXPECT_EQ(Handled(), "a4 ");
}

TEST_F(FairQueueTest, APeerWithUnsentResponsesWaits) {
  queue_.Sending("a", 60);
  queue_.Sending("a", 60);
  for (const char* request : {"a1", "a2"}) Add("a", request);
  Add("b", "b1");
  EXPECT_EQ(Handled(), "b1 ");
  queue_.Sent("a", 60);
  EXPECT_EQ(Handled(), "a1 a2 ");
  queue_.Sent("a", 60);
  EXPECT_EQ(Handled(), "");
}

TEST_F(FairQueueTest, ClearForgetsRequests) {
  Add("a", "a1");
  queue_.Clear();
  EXPECT_EQ(Handled(), "");
}

}  // namespace
}  // namespace rocescope
