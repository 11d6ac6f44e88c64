// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/panel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::IsNan;

constexpr Duration kWindow = std::chrono::seconds(1);

class PanelTest : public testing::Test {
 protected:
  // A counter that grows by the number of the window in each of the windows 0 to 7.
  void Count(topology::NicIndex nic, Metric metric) {
    uint64_t value = 0;
    for (int64_t window = 0; window <= 8; ++window) {
      metrics_.Add({.entity = {.kind = EntityKind::kNic,
                               .node = fabric_.node(fabric_.nic(nic).host).name,
                               .port = fabric_.nic(nic).device},
                    .metric = metric,
                    .value = value,
                    .event_time = Timestamp(window * kWindow)});
      value += static_cast<uint64_t>(window);
    }
  }
  Panel Columns() const {
    std::vector<Member> members;
    for (const auto& [entity, of_entity] : metrics_.entities()) {
      members.push_back({.entity = entity, .of_entity = &of_entity});
    }
    return EmptyPanel(metrics_, members, 1);
  }
  static auto Grown(int64_t by) {
    return FloatEq(static_cast<float>(std::log1p(static_cast<double>(by))));
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 1}).value();
  MetricStore metrics_{fabric_, {.window = kWindow}};
};

TEST_F(PanelTest, ReadsAnyRangeOfWindows) {
  Count(0, Metric::kOutOfSequence);
  Count(2, Metric::kOutOfSequence);
  PanelReader reader(metrics_, 8);
  const Panel columns = Columns();
  const Panel late = reader.Read(columns, 5, 7);
  const Panel early = reader.Read(columns, 0, 3);
  EXPECT_EQ(late.entities.size(), 2u);
  EXPECT_THAT(late.Of(0, 1), ElementsAre(Grown(5), Grown(6)));
  EXPECT_THAT(early.Of(0, 0), ElementsAre(Grown(0), Grown(1), Grown(2)));
  EXPECT_THAT(reader.Read(columns, 5, 7).values, late.values);
}

TEST_F(PanelTest, ReadsMetricsThatAreAdded) {
  Count(0, Metric::kOutOfSequence);
  PanelReader reader(metrics_, 8);
  Panel columns = Columns();
  EXPECT_THAT(reader.Read(columns, 4, 5).values, ElementsAre(Grown(4)));
  columns.metrics.push_back(Metric::kLocalAckTimeout);
  EXPECT_THAT(reader.Read(columns, 4, 5).values, ElementsAre(Grown(4), IsNan()));
}

}  // namespace
}  // namespace rocescope
