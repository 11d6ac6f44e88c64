// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/flow/flow_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <vector>

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

Timestamp At(int64_t second) { return Timestamp(seconds(1'700'000'000 + second)); }

TEST(FlowRegistry, KnowsNoFlowAtFirst) {
  const FlowRegistry flows;
  EXPECT_EQ(flows.Find(FlowTo(1)), kNoFlow);
}

TEST(FlowRegistry, AssignsDenseIdsInTheOrderOfArrival) {
  FlowRegistry flows;
  EXPECT_EQ(flows.Intern(FlowTo(7)), 0u);
  EXPECT_EQ(flows.Intern(FlowTo(5)), 1u);
  EXPECT_EQ(flows.Intern(FlowTo(7)), 0u);
  EXPECT_EQ(flows.Find(FlowTo(5)), 1u);
  EXPECT_EQ(flows.key(1), FlowTo(5));
}

TEST(FlowRegistry, KeepsBothDirectionsAndSegmentsApart) {
  FlowRegistry flows;
  FlowKey back = FlowTo(7);
  std::swap(back.source, back.destination);
  FlowKey elsewhere = FlowTo(7);
  elsewhere.segment = 1;
  EXPECT_EQ(flows.Intern(FlowTo(7)), 0u);
  EXPECT_EQ(flows.Intern(back), 1u);
  EXPECT_EQ(flows.Intern(elsewhere), 2u);
}

TEST(FlowRegistry, IsNotMisledByAHint) {
  FlowRegistry flows;
  const FlowId first = flows.Intern(FlowTo(1), 9);
  const FlowId second = flows.Intern(FlowTo(2), 9);  // another flow uses the hint now
  EXPECT_NE(first, second);
  EXPECT_EQ(flows.Intern(FlowTo(1), 9), first);
  EXPECT_EQ(flows.Intern(FlowTo(2), 9), second);
}

TEST(FlowRegistry, InternsABatchInTheOrderOfItsRecords) {
  RecordBatch batch;
  batch.flows.resize(20);  // more than are prefetched
  for (uint32_t i = 0; i < 20; ++i) {
    batch.flows[i].flow = FlowTo(100 + i % 10);
    batch.flows[i].hint = i;
  }
  batch.sightings.push_back({.flow = FlowTo(105)});
  batch.hops.push_back({});  // without a packet
  batch.hops.push_back({.packet = {.known = true, .flow = FlowTo(200)}});
  batch.samples.push_back({.packet = {.known = true, .flow = FlowTo(100)}});
  FlowRegistry flows;
  BatchFlows ids;
  for (int repetition = 0; repetition < 2; ++repetition) {
    flows.Intern(batch, ids);
    ASSERT_EQ(ids.flows.size(), 20u);
    for (uint32_t i = 0; i < 20; ++i) EXPECT_EQ(ids.flows[i], i % 10);
    EXPECT_THAT(ids.sightings, ElementsAre(5));
    EXPECT_THAT(ids.hops, ElementsAre(kNoFlow, 10));
    EXPECT_THAT(ids.samples, ElementsAre(0));
  }
}

class FullFlowRegistry : public testing::Test {
 protected:
  FullFlowRegistry() {
    flows_.OnEviction([this](FlowId flow) { evicted_.push_back(flows_.key(flow)); });
  }
  FlowId InternAt(int64_t second, uint32_t qpn) {
    flows_.SetTime(At(second));
    return flows_.Intern(FlowTo(qpn));
  }

  FlowRegistry flows_{2};
  std::vector<FlowKey> evicted_;  // their keys when they were evicted
};

TEST_F(FullFlowRegistry, RefusesNewFlowsWhileAllAreActive) {
  InternAt(0, 1);
  InternAt(5, 2);
  EXPECT_EQ(InternAt(10, 3), kNoFlow) << "ten seconds are not over yet";
  EXPECT_EQ(InternAt(10, 2), 1u) << "known flows remain";
  EXPECT_THAT(evicted_, IsEmpty());
}

TEST_F(FullFlowRegistry, EvictsAFlowThatWasIdleForTenSeconds) {
  InternAt(0, 1);
  InternAt(5, 2);
  EXPECT_EQ(InternAt(11, 3), 0u) << "the id of the evicted flow";
  EXPECT_THAT(evicted_, ElementsAre(FlowTo(1)));
  EXPECT_EQ(flows_.key(0), FlowTo(3));
  EXPECT_EQ(flows_.Find(FlowTo(3)), 0u);
  EXPECT_EQ(flows_.Find(FlowTo(1)), kNoFlow);
}

TEST_F(FullFlowRegistry, EvictsTheFlowThatHasBeenIdleLongest) {
  InternAt(0, 1);
  InternAt(1, 2);
  InternAt(2, 1);
  InternAt(60, 3);
  EXPECT_THAT(evicted_, ElementsAre(FlowTo(2)));
}

TEST(FlowRegistry, ReplacesOutdatedFlowsAlthoughThereIsSpace) {
  FlowRegistry flows;
  flows.SetIdleTimeout(std::chrono::seconds(60));
  const auto intern_at = [&](int64_t second, uint32_t qpn) {
    flows.SetTime(At(second));
    return flows.Intern(FlowTo(qpn));
  };
  EXPECT_EQ(intern_at(0, 1), 0u);
  EXPECT_EQ(intern_at(1, 2), 1u);
  EXPECT_EQ(intern_at(30, 1), 0u);
  EXPECT_EQ(intern_at(61, 3), 2u) << "2 was idle for just a minute";
  EXPECT_EQ(intern_at(62, 4), 1u) << "longer than a minute";
  EXPECT_EQ(flows.Find(FlowTo(2)), kNoFlow);
  EXPECT_EQ(intern_at(63, 2), 3u);
  for (uint32_t i = 0; i < 1000; ++i) intern_at(100 + i, 100 + i);
  EXPECT_LT(flows.size(), 150u) << "61 flows are not outdated; the search takes some time";
  EXPECT_EQ(flows.replaced(), 0u) << "the registry was never full";
}

TEST(FlowRegistry, FlowsBeforeTheFirstTimeAreNotOutdated) {
  FlowRegistry flows;
  flows.SetIdleTimeout(std::chrono::seconds(60));
  const FlowId first = flows.Intern(FlowTo(1));
  flows.SetTime(At(1'000'000'000));
  for (uint32_t i = 2; i < 100; ++i) flows.Intern(FlowTo(i));
  EXPECT_EQ(flows.Find(FlowTo(1)), first);
  EXPECT_EQ(flows.size(), 99u);
}

TEST_F(FullFlowRegistry, DoesNotFollowTheHintOfAnEvictedFlow) {
  flows_.SetTime(At(0));
  flows_.Intern(FlowTo(1), 4);
  flows_.Intern(FlowTo(2), 5);
  InternAt(60, 2);
  InternAt(60, 3);
  EXPECT_THAT(evicted_, ElementsAre(FlowTo(1)));
  EXPECT_EQ(flows_.Intern(FlowTo(1), 4), kNoFlow);
  EXPECT_EQ(flows_.Intern(FlowTo(2), 5), 1u);
}

TEST_F(FullFlowRegistry, NeverEvictsAFlowOfTheSameBatch) {
  InternAt(0, 1);
  InternAt(0, 2);
  flows_.SetTime(At(60));
  RecordBatch batch;
  for (const uint32_t qpn : {1u, 3u, 4u, 1u}) batch.flows.push_back({.flow = FlowTo(qpn)});
  BatchFlows ids;
  flows_.Intern(batch, ids);
  EXPECT_THAT(ids.flows, ElementsAre(0, 1, kNoFlow, 0));
}

TEST_F(FullFlowRegistry, IgnoresATimeThatGoesBack) {
  InternAt(20, 1);
  InternAt(0, 2);
  EXPECT_EQ(InternAt(25, 3), kNoFlow);
}

// Compared with a map, for flows that come and go. Two registries with the same input agree.
TEST(FlowRegistry, AgreesWithAMapAndWithItsTwin) {
  constexpr size_t kCapacity = 50;
  std::mt19937 random(3);
  FlowRegistry flows(kCapacity);
  FlowRegistry twin(kCapacity);
  std::map<FlowKey, FlowId> model;
  flows.OnEviction([&](FlowId flow) { EXPECT_EQ(model.erase(flows.key(flow)), 1u); });
  size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Timestamp now = At(i / 20);
    flows.SetTime(now);
    twin.SetTime(now);
    const FlowKey key = FlowTo(static_cast<uint32_t>(i / 100) + random() % 40);
    const auto hint = static_cast<uint32_t>(random() % 64);
    const FlowId flow = flows.Intern(key, hint);
    ASSERT_EQ(twin.Intern(key, hint), flow);
    if (flow == kNoFlow) {
      ++refused;
      EXPECT_EQ(model.size(), kCapacity);
      continue;
    }
    const auto [known, is_new] = model.try_emplace(key, flow);
    ASSERT_EQ(known->second, flow);
    ASSERT_LE(model.size(), kCapacity);
  }
  EXPECT_GT(model.rbegin()->first.destination_qpn.value, 200u) << "old flows made way";
  EXPECT_LT(refused, 2000u);
  for (const auto& [key, flow] : model) EXPECT_EQ(flows.Find(key), flow);
}

TEST(FlowRegistry, KeepsManyFlowsApartWhileItGrows) {
  FlowRegistry flows;
  for (uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(flows.Intern(FlowTo(i)), i);
  for (uint32_t i = 0; i < 10'000; ++i) ASSERT_EQ(flows.Find(FlowTo(i)), i);
  EXPECT_EQ(flows.Find(FlowTo(10'000)), kNoFlow);
}

}  // namespace
}  // namespace rocescope
