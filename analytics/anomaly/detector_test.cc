// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kWindow = std::chrono::seconds(1);
constexpr int64_t kEpoch = 1000;  // the first window

class AnomalyTest : public testing::Test {
 protected:
  // Arguments: NIC, and window number from 0.
  using Growth = std::function<uint64_t(topology::NicIndex, int64_t)>;

  static Timestamp At(int64_t window) { return Timestamp((kEpoch + window) * kWindow); }

  // Adds a counter that grows evenly within each window and is read at both ends of it.
  void Counts(Metric metric, int64_t windows, const Growth& growth) {
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      uint64_t value = 0;
      for (int64_t window = 0; window <= windows; ++window) {
        metrics_.Add({.entity = {.kind = EntityKind::kNic,
                                 .node = fabric_.node(fabric_.nic(nic).host).name,
                                 .port = fabric_.nic(nic).device},
                      .metric = metric,
                      .value = value,
                      .event_time = At(window)});
        value += growth(nic, window);
      }
    }
  }
  // About 1,000,000 per window, varied by up to 5 % depending on NIC and window.
  static uint64_t Usual(topology::NicIndex nic, int64_t window) {
    const double turn = 2.399963 * static_cast<double>(nic * 37 + static_cast<uint64_t>(window));
    return static_cast<uint64_t>(1e6 * (1 + 0.05 * std::sin(turn)));
  }
  Anomalies Found() {
    detector_.Update(metrics_);
    return detector_.Answer();
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 16, .leaves = 4, .spines = 2}).value();
  MetricStore metrics_{fabric_, {.window = kWindow}};
  AnomalyDetector detector_{fabric_};
};

TEST_F(AnomalyTest, ReportsNothingForStableCounters) {
  Counts(Metric::kTxBytes, 40, Usual);
  Counts(Metric::kOutOfSequence, 40, [](auto, auto) { return 0; });
  const Anomalies found = Found();
  EXPECT_THAT(found.anomalies, IsEmpty());
  EXPECT_THAT(found.phase_changes, IsEmpty());
  EXPECT_EQ(found.statistics.judged + found.statistics.unjudged, 40 * fabric_.nics().size());
  EXPECT_GT(found.statistics.judged, 30 * fabric_.nics().size());
}

TEST_F(AnomalyTest, ReportsAJumpOfOneMetricOnOneNic) {
  Counts(Metric::kTxBytes, 40, Usual);
  Counts(Metric::kOutOfSequence, 40, [](topology::NicIndex nic, int64_t window) -> uint64_t {
    return nic == 5 && window >= 25 && window < 30 ? 500 : 0;
  });
  const Anomalies found = Found();
  ASSERT_THAT(found.anomalies, SizeIs(1));
  const Anomaly& anomaly = found.anomalies[0];
  EXPECT_EQ(anomaly.entity, (Entity{.kind = EntityKind::kNic, .index = 5}));
  EXPECT_EQ(anomaly.from, At(25));
  EXPECT_EQ(anomaly.until, At(30));
  EXPECT_EQ(anomaly.windows, 5u);
  EXPECT_EQ(anomaly.peers, fabric_.nics().size() - 1);
  ASSERT_THAT(anomaly.metrics, testing::Not(IsEmpty()));
  EXPECT_EQ(anomaly.metrics[0].metric, Metric::kOutOfSequence);
  EXPECT_GT(anomaly.metrics[0].share, 0.9);
  EXPECT_NEAR(anomaly.metrics[0].observed, 500, 0.01);
  EXPECT_NEAR(anomaly.metrics[0].expected, 0, 0.01);
  EXPECT_GT(anomaly.Score(), 0.999999);
}

TEST_F(AnomalyTest, ReportsACommonShiftAsPhaseChange) {
  Counts(Metric::kTxBytes, 40, [](topology::NicIndex nic, int64_t window) {
    return window >= 25 ? Usual(nic, window) * 8 : Usual(nic, window);
  });
  const Anomalies found = Found();
  EXPECT_THAT(found.anomalies, IsEmpty());
  ASSERT_THAT(found.phase_changes, SizeIs(1));
  EXPECT_EQ(found.phase_changes[0].from, At(25));
  EXPECT_EQ(found.phase_changes[0].entities, fabric_.nics().size());
  EXPECT_EQ(found.phase_changes[0].role.kind, EntityKind::kNic);
}

TEST_F(AnomalyTest, IgnoresAnOutlierThatMatchesItsOwnPast) {
  Counts(Metric::kTxBytes, 40, [](topology::NicIndex nic, int64_t window) {
    return window >= 25 && nic != 3 ? Usual(nic, window) * 8 : Usual(nic, window);
  });
  EXPECT_THAT(Found().anomalies, IsEmpty());
}

TEST_F(AnomalyTest, ReportsACounterThatStopsAmongItsPeers) {
  Counts(Metric::kTxBytes, 40, [](topology::NicIndex nic, int64_t window) {
    return nic == 7 && window >= 30 ? 0 : Usual(nic, window);
  });
  const Anomalies found = Found();
  ASSERT_THAT(found.anomalies, SizeIs(1));
  EXPECT_EQ(found.anomalies[0].entity.index, 7u);
  EXPECT_EQ(found.anomalies[0].from, At(30));
  EXPECT_EQ(found.anomalies[0].until, At(40));
  EXPECT_NEAR(found.anomalies[0].metrics[0].observed, 0, 0.01);
  EXPECT_NEAR(found.anomalies[0].metrics[0].expected, 1e6, 6e4);
}

TEST_F(AnomalyTest, TreatsUnreadWindowsAsMissing) {
  Counts(Metric::kTxBytes, 40, Usual);
  // One NIC's agent stops reporting after 25 windows.
  MetricStore metrics(fabric_, {.window = kWindow});
  for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
    uint64_t value = 0;
    for (int64_t window = 0; window <= 40; ++window) {
      if (nic == 2 && window > 25) break;
      metrics.Add({.entity = {.kind = EntityKind::kNic,
                              .node = fabric_.node(fabric_.nic(nic).host).name,
                              .port = fabric_.nic(nic).device},
                   .metric = Metric::kTxBytes,
                   .value = value,
                   .event_time = At(window)});
      value += Usual(nic, window);
    }
  }
  detector_.Update(metrics);
  const Anomalies found = detector_.Answer();
  EXPECT_THAT(found.anomalies, IsEmpty());
  EXPECT_EQ(found.statistics.judged + found.statistics.unjudged, 40 * fabric_.nics().size());
}

TEST_F(AnomalyTest, DoesNotDependOnTheUpdateInterval) {
  const auto errors = [](topology::NicIndex nic, int64_t window) -> uint64_t {
    return nic == 5 && window == 25 ? 500 : 0;
  };
  Counts(Metric::kTxBytes, 40, Usual);
  Counts(Metric::kOutOfSequence, 40, errors);
  const Anomalies once = Found();
  AnomalyDetector often(fabric_);
  MetricStore metrics(fabric_, {.window = kWindow});
  std::vector<uint64_t> bytes(fabric_.nics().size()), late(fabric_.nics().size());
  for (int64_t window = 0; window <= 40; ++window) {
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      CounterRecord record{.entity = {.kind = EntityKind::kNic,
                                      .node = fabric_.node(fabric_.nic(nic).host).name,
                                      .port = fabric_.nic(nic).device},
                           .metric = Metric::kTxBytes,
                           .value = bytes[nic],
                           .event_time = At(window)};
      metrics.Add(record);
      record.metric = Metric::kOutOfSequence;
      record.value = late[nic];
      metrics.Add(record);
      bytes[nic] += Usual(nic, window);
      late[nic] += errors(nic, window);
    }
    often.Update(metrics);
  }
  EXPECT_EQ(often.Answer().anomalies, once.anomalies);
  EXPECT_EQ(often.Answer().statistics, once.statistics);
  EXPECT_THAT(once.anomalies, SizeIs(1));
}

TEST_F(AnomalyTest, DropsTheOldest) {
  Counts(Metric::kTxBytes, 40, Usual);
  Counts(Metric::kOutOfSequence, 40, [](topology::NicIndex nic, int64_t window) -> uint64_t {
    return (nic == 5 && window == 20) || (nic == 9 && window == 30) ? 500 : 0;
  });
  ASSERT_THAT(Found().anomalies, SizeIs(2));
  AnomalyDetector one(fabric_, {.most_anomalies = 1});
  one.Update(metrics_);
  const Anomalies found = one.Answer();
  ASSERT_THAT(found.anomalies, SizeIs(1));
  EXPECT_EQ(found.anomalies[0].entity.index, 9u);
  EXPECT_EQ(found.anomalies[0].from, At(30));
  EXPECT_EQ(found.statistics.refused, 1u);
}

// Update is called after 40 windows and after 250 more. Series have dropped the counts of the first
// 34 windows.
TEST_F(AnomalyTest, DoesNotTreatForgottenWindowsAsZero) {
  std::vector<uint64_t> bytes(fabric_.nics().size());
  for (int64_t window = 0; window <= 290; ++window) {
    for (topology::NicIndex nic = 0; nic < fabric_.nics().size(); ++nic) {
      metrics_.Add({.entity = {.kind = EntityKind::kNic,
                               .node = fabric_.node(fabric_.nic(nic).host).name,
                               .port = fabric_.nic(nic).device},
                    .metric = Metric::kTxBytes,
                    .value = bytes[nic],
                    .event_time = At(window)});
      bytes[nic] += Usual(nic, window);
    }
    if (window == 40) detector_.Update(metrics_);
  }
  // The first eight windows, and the two without eight known windows before them.
  EXPECT_EQ(Found().statistics.unjudged, (8 + 2) * fabric_.nics().size());
}

TEST_F(AnomalyTest, EvaluatesNothingWithoutAPast) {
  Counts(Metric::kTxBytes, 5, Usual);
  const Anomalies found = Found();
  EXPECT_EQ(found.statistics.judged, 0u);
  EXPECT_EQ(found.statistics.unjudged, 5 * fabric_.nics().size());
}

}  // namespace
}  // namespace rocescope
