// SPDX-License-Identifier: BSD-3-Clause
// Compares the fast path for the middle packets of a WRITE with the general path.
#include <gtest/gtest.h>

#include <random>

#include "dataplane/flow/flow_feeder.h"
#include "tests/support/record_text.h"

namespace rocescope::test {
namespace {

// Traffic of one flow with all events that can occur between two middle packets of a WRITE. With
// `asking`, each middle packet requests an ACK, which selects the general path and has no other
// effect if no ACKs arrive.
class Traffic {
 public:
  explicit Traffic(bool asking) : asking_(asking) {}

  Frame Next() {
    Vary();
    const uint32_t dice = random_() % 100;
    if (dice < 3) psn_ += 1 + random_() % 3;  // lost packets
    if (dice >= 97) psn_ -= 1 + random_() % 5;
    const uint32_t psn = psn_++ & k24BitMask;
    if (dice < 80) return Packet(kWriteMiddle, psn, route_, asking_).Payload(64);
    if (dice < 88) return Packet(kWriteFirst, psn, route_).Reth({.rkey = 7}).Payload(64);
    if (dice < 94) return Packet(kWriteLast, psn, route_).Payload(64);
    psn_ += 2;
    return ReadOf(psn, 3000, route_);
  }

 private:
  void Vary() {
    route_.ip.ecn = random_() % 8 == 0 ? 3 : 2;
    if (random_() % 50 == 0) route_.ip.dscp ^= 1;
    if (random_() % 50 == 0) route_.udp_source_port ^= 1;
    if (random_() % 50 == 0) route_.ip.ttl ^= 1;
  }

  const bool asking_;
  std::mt19937 random_{17};
  Route route_;
  uint32_t psn_ = k24BitMask - 1000;
};

RecordBatch RecordsOf(bool asking) {
  FlowFeeder feeder({.capacity = 8,
                     .interval = std::chrono::milliseconds(1),
                     .sightings = {.chosen_per_interval = 50}});
  Traffic traffic(asking);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t late = i % 100 == 0 ? 100 * kMicrosecond : 0;
    feeder.Feed(traffic.Next(), i * kMicrosecond - late);
  }
  feeder.Records();
  for (ObservationRecord& sighting : feeder.out().sightings) sighting.ack_request = false;
  return feeder.out();
}

TEST(WriteMiddle, FastPathCountsLikeTheGeneralPath) {
  const RecordBatch records = RecordsOf(false);
  EXPECT_GT(records.flows.size(), 20u);
  EXPECT_GT(records.sightings.size(), 100u);
  EXPECT_EQ(Text(records), Text(RecordsOf(true)));
}

}  // namespace
}  // namespace rocescope::test
