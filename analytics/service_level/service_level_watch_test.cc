// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/service_level_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "topology/generate.h"

namespace rocescope {
namespace {

constexpr Duration kWindow = std::chrono::seconds(1);
constexpr int64_t kEpoch = 1000;  // the first window

Timestamp At(double window) {
  return Timestamp(kEpoch * kWindow) +
         Duration(static_cast<int64_t>(window * static_cast<double>(kWindow.count())));
}

// Iterations of job 0 from window `begin` on, with their lengths in windows.
JobIterationPattern IterationPattern(double begin, const std::vector<double>& lengths) {
  JobIterationPattern iteration_pattern{.job = 0, .period = kWindow};
  iteration_pattern.collectives.push_back({.groups = {{0, 1}}, .bytes = 1000});
  for (const double length : lengths) {
    iteration_pattern.spans.push_back(
        {.begin = At(begin), .end = At(begin + length), .sending = kWindow / 4});
    begin += length;
  }
  return iteration_pattern;
}

Attribution OneJob() {
  Attribution attribution;
  attribution.jobs.emplace_back().job.id = "job7";
  return attribution;
}

ServiceLevel LevelOf(const ServiceLevels& levels, ServiceIndicator indicator, uint32_t index = 0) {
  const auto at = std::ranges::find_if(levels.levels, [&](const ServiceLevel& level) {
    const bool of_job = level.job != ServiceLevel::kNoJob;
    return level.indicator == indicator && (of_job ? level.job : level.entity.index) == index;
  });
  EXPECT_NE(at, levels.levels.end());
  return at == levels.levels.end() ? ServiceLevel() : *at;
}

TEST(ServiceLevelWatch, AJobWithoutAPeriodHasNoData) {
  ServiceLevelWatch watch;
  const ServiceLevels levels = watch.Update(nullptr, nullptr, OneJob(), {}, kWindow);
  EXPECT_EQ(levels.levels.size(), 4u);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kIterationTime).state, ServiceState::kNoData);
  EXPECT_TRUE(watch.Update(nullptr, nullptr, {}, {}, kWindow).levels.empty());
}

TEST(ServiceLevelWatch, AJobThatBecomesSlowerMissesItsLevel) {
  std::vector<double> lengths(40, 0.5);
  const ServiceLevels before = ServiceLevelWatch().Update(nullptr, nullptr, OneJob(),
                                                          {IterationPattern(0, lengths)}, kWindow);
  EXPECT_EQ(LevelOf(before, ServiceIndicator::kIterationTime).state, ServiceState::kMet);
  lengths.insert(lengths.end(), 10, 1);
  const ServiceLevels after = ServiceLevelWatch().Update(nullptr, nullptr, OneJob(),
                                                         {IterationPattern(0, lengths)}, kWindow);
  const ServiceLevel time = LevelOf(after, ServiceIndicator::kIterationTime);
  EXPECT_EQ(time.state, ServiceState::kMissed);
  EXPECT_DOUBLE_EQ(time.bound.value(), 1.25 * 0.5e9);
  EXPECT_DOUBLE_EQ(time.last.value(), 1e9);
  EXPECT_DOUBLE_EQ(time.within_long, 20.0 / 30);
  EXPECT_EQ(LevelOf(after, ServiceIndicator::kIterationRate).state, ServiceState::kMissed);
  // It sends as fast as before while it sends.
  EXPECT_EQ(LevelOf(after, ServiceIndicator::kBusBandwidth).state, ServiceState::kMet);
}

TEST(ServiceLevelWatch, LearntBoundsOutliveTheTimeLine) {
  ServiceLevelWatch watch;
  watch.Update(nullptr, nullptr, OneJob(), {IterationPattern(0, std::vector<double>(25, 1))},
               kWindow);
  const ServiceLevels later = watch.Update(
      nullptr, nullptr, OneJob(), {IterationPattern(25, std::vector<double>(100, 2))}, kWindow);
  const ServiceLevel time = LevelOf(later, ServiceIndicator::kIterationTime);
  EXPECT_DOUBLE_EQ(time.bound.value(), 1.25e9);
  EXPECT_EQ(time.state, ServiceState::kMissed);
  EXPECT_EQ(time.within_long, 0);
}

TEST(ServiceLevelWatch, AnOverlappingSearchReplacesTheOneBefore) {
  ServiceLevelWatch watch;
  watch.Update(nullptr, nullptr, OneJob(), {IterationPattern(0, std::vector<double>(20, 1))},
               kWindow);
  const ServiceLevels again = watch.Update(
      nullptr, nullptr, OneJob(), {IterationPattern(10.001, std::vector<double>(20, 1))}, kWindow);
  const ServiceLevel time = LevelOf(again, ServiceIndicator::kIterationTime);
  EXPECT_EQ(time.windows, 30u);
  EXPECT_EQ(time.within_long, 1);
}

class WithFabric : public testing::Test {
 protected:
  void Reads(Metric metric, const std::function<uint64_t(uint32_t, int64_t)>& value) {
    for (uint32_t nic = 0; nic < fabric_.nics().size(); ++nic) {
      for (int64_t window = 0; window <= 40; ++window) {
        metrics_.Add({.entity = {.kind = EntityKind::kNic,
                                 .node = fabric_.node(fabric_.nic(nic).host).name,
                                 .port = fabric_.nic(nic).device},
                      .metric = metric,
                      .value = value(nic, window),
                      .event_time = At(static_cast<double>(window))});
      }
    }
  }
  ServiceLevels Levels(const ServiceLevelOptions& options = {}) {
    return ServiceLevelWatch(options).Update(&fabric_, &metrics_, {}, {}, kWindow);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 4, .leaves = 2, .spines = 1}).value();
  MetricStore metrics_{fabric_, {.window = kWindow}};
};

TEST_F(WithFabric, ANicWithPermanentRetransmissionsMissesItsLevel) {
  Reads(Metric::kPacketSequenceError,
        [](uint32_t nic, int64_t window) { return nic == 1 ? static_cast<uint64_t>(window) : 7; });
  const ServiceLevels levels = Levels();
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kRetransmissions, 0).state, ServiceState::kMet);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kRetransmissions, 1).state, ServiceState::kMissed);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kNicPaused, 1).state, ServiceState::kNoData);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kFramesLost,
                    fabric_.node(fabric_.FindNode("leaf0")).first_port)
                .state,
            ServiceState::kNoData);
}

TEST_F(WithFabric, ABoundMayBeLearnt) {
  // NIC 1 has always had errors, NIC 2 since window 20.
  Reads(Metric::kPacketSequenceError, [](uint32_t nic, int64_t window) {
    const int64_t since = nic == 1 ? 0 : nic == 2 ? 20 : 40;
    return static_cast<uint64_t>(std::max<int64_t>(0, window - since));
  });
  ServiceLevelOptions options;
  options.bounds[static_cast<size_t>(ServiceIndicator::kRetransmissions)] = {
      .kind = BoundKind::kLearnt, .number = 0.5};
  const ServiceLevels levels = Levels(options);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kRetransmissions, 1).state, ServiceState::kMet);
  EXPECT_DOUBLE_EQ(LevelOf(levels, ServiceIndicator::kRetransmissions, 1).bound.value(), 1.5);
  EXPECT_EQ(LevelOf(levels, ServiceIndicator::kRetransmissions, 2).state, ServiceState::kMissed);
}

}  // namespace
}  // namespace rocescope
