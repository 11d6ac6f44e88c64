// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/counter_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

constexpr Duration kWindow = std::chrono::seconds(1);

class CounterValuesTest : public testing::Test {
 protected:
  // Readings at the starts of windows from 0 on.
  void Reads(const CounterEntity& entity, Metric metric, const std::vector<uint64_t>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      metrics_.Add({.entity = entity,
                    .metric = metric,
                    .value = values[i],
                    .event_time = Timestamp(static_cast<int64_t>(i) * kWindow)});
    }
  }
  CounterEntity Port(uint8_t priority = CounterEntity::kAllPriorities) const {
    const topology::Port& port = fabric_.port(port_);
    CounterEntity entity;
    entity.kind = EntityKind::kPort;
    entity.node = fabric_.node(port.node).name;
    entity.port = port.name;
    entity.priority = priority;
    return entity;
  }
  std::vector<double> OfPort(ServiceIndicator indicator, int64_t until) const {
    return CounterValues(metrics_, {.kind = EntityKind::kPort, .index = port_}, indicator, 0,
                         until);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 1}).value();
  const topology::PortIndex port_ = fabric_.node(fabric_.FindNode("leaf0")).first_port;
  MetricStore metrics_{fabric_, {.window = kWindow}};
};

TEST_F(CounterValuesTest, CeShareIsMarksOfAllPrioritiesPerPacketSent) {
  Reads(Port(), Metric::kTxPackets, {0, 1000, 3000, 3000});
  Reads(Port(3), Metric::kEcnMarked, {0, 60, 160, 160});
  Reads(Port(4), Metric::kEcnMarked, {0, 40, 40, 40});
  EXPECT_THAT(OfPort(ServiceIndicator::kCeShare, 3), ElementsAre(DoubleEq(0.1), DoubleEq(0.05), 0));
}

TEST_F(CounterValuesTest, AFewPacketsCountAsTheMinimum) {
  Reads(Port(), Metric::kTxPackets, {0, 2});
  Reads(Port(3), Metric::kEcnMarked, {0, 1});
  EXPECT_THAT(OfPort(ServiceIndicator::kCeShare, 1), ElementsAre(DoubleEq(1.0 / 64)));
}

TEST_F(CounterValuesTest, PausedIsTheShareOfTheTimeOfTheWorstPriority) {
  Reads(Port(3), Metric::kPfcRxTime, {0, 250'000'000});
  Reads(Port(4), Metric::kPfcRxTime, {0, 500'000'000});
  EXPECT_THAT(OfPort(ServiceIndicator::kPortPaused, 1), ElementsAre(DoubleEq(0.5)));
}

TEST_F(CounterValuesTest, UtilisationIsThatOfTheBusierDirection) {
  Reads(Port(), Metric::kRxBytes, {0, 125'000'000});
  Reads(Port(), Metric::kTxBytes, {0, 625'000'000});
  Reads(Port(), Metric::kLinkSpeed, {10'000'000'000, 10'000'000'000});
  EXPECT_THAT(OfPort(ServiceIndicator::kUtilisation, 1), ElementsAre(DoubleEq(0.5)));
}

TEST_F(CounterValuesTest, LostFramesAreSummedAndZeroIsAValue) {
  Reads(Port(), Metric::kFcsErrors, {0, 2, 2, 2});
  Reads(Port(3), Metric::kQueueDrops, {5, 8, 8, 9});
  EXPECT_THAT(OfPort(ServiceIndicator::kFramesLost, 3), ElementsAre(5, 0, 1));
}

TEST_F(CounterValuesTest, UnreadWindowsHaveNoValue) {
  EXPECT_THAT(OfPort(ServiceIndicator::kFramesLost, 2), ElementsAre(IsNan(), IsNan()));
  Reads(Port(), Metric::kFcsErrors, {0, 2});
  EXPECT_THAT(OfPort(ServiceIndicator::kFramesLost, 2), ElementsAre(2, IsNan()));
  EXPECT_THAT(OfPort(ServiceIndicator::kCeShare, 1), ElementsAre(IsNan()));
}

}  // namespace
}  // namespace rocescope
