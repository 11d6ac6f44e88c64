// SPDX-License-Identifier: BSD-3-Clause
#include "sim/draw/draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "sim/draw/loss_rate.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

Priors LibraryPriors() {
  std::ifstream file(ROCESCOPE_PRIORS, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  auto priors = LoadPriors(text, "priors.yaml");
  EXPECT_TRUE(priors.has_value()) << priors.error().message;
  return *std::move(priors);
}

class DrawTest : public ::testing::Test {
 protected:
  DrawOptions Options(uint64_t seed, bool stratified) const {
    return {.seed = seed, .priors = priors_, .stratified = stratified};
  }
  DrawnScenario Draw(const DrawOptions& options, uint32_t number) const {
    auto drawn = DrawScenario(options, number);
    EXPECT_TRUE(drawn.has_value()) << drawn.error().message;
    return drawn.value_or(DrawnScenario{});
  }

  const Priors priors_ = LibraryPriors();
};

TEST_F(DrawTest, DrawsEveryKindOfFabricAndWorkload) {
  std::set<size_t> gpus;
  std::set<size_t> jobs;
  std::set<uint32_t> queue_pairs;
  std::set<CollectiveKind> collectives;
  std::set<std::string> releases;
  std::set<topology::Tier> tiers;
  size_t default_logs = 0;
  for (uint32_t number = 1; number <= 80; ++number) {
    const auto scenario = LoadScenario(Draw(Options(5, true), number).yaml, "drawn").value();
    const topology::Fabric& fabric = scenario.fabric.value();
    gpus.insert(fabric.gpus().size());
    jobs.insert(scenario.jobs.size());
    releases.insert(scenario.telemetry.nccl_version);
    default_logs += !scenario.telemetry.nccl_queue_pairs;
    for (const topology::Node& node : fabric.nodes()) tiers.insert(node.tier);
    for (const JobOptions& job : scenario.jobs) {
      queue_pairs.insert(job.queue_pairs);
      for (const auto& phase : job.phases) collectives.insert(phase.collective.kind);
    }
  }
  EXPECT_TRUE(gpus.contains(64) && gpus.contains(128));
  EXPECT_EQ(jobs, (std::set<size_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(queue_pairs, (std::set<uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(collectives.size(), 5u);
  EXPECT_EQ(releases.size(), 7u);
  EXPECT_THAT(default_logs, testing::AllOf(testing::Ge(10u), testing::Le(30u))) << "one in four";
  EXPECT_EQ(tiers.size(), topology::kTierCount);
}

TEST_F(DrawTest, DefaultLogsChangeNothingElse) {
  DrawOptions options = Options(7, true);
  for (uint32_t number = 1; number <= 6; ++number) {
    options.default_logs = false;
    std::string drawn = Draw(options, number).yaml;
    options.default_logs = true;
    const std::string reduced = Draw(options, number).yaml;
    EXPECT_FALSE(LoadScenario(reduced, "drawn").value().telemetry.nccl_queue_pairs);
    if (LoadScenario(drawn, "drawn").value().telemetry.nccl_queue_pairs) {
      drawn.insert(drawn.rfind('}'), ", nccl_queue_pairs: false");
    }
    EXPECT_EQ(reduced, drawn);
  }
}

TEST_F(DrawTest, HostsBelongToOneJob) {
  for (uint32_t number = 1; number <= 60; ++number) {
    const auto scenario = LoadScenario(Draw(Options(6, true), number).yaml, "drawn").value();
    const topology::Fabric& fabric = scenario.fabric.value();
    std::map<topology::NodeIndex, const JobOptions*> owners;
    for (const JobOptions& job : scenario.jobs) {
      for (const topology::GpuIndex gpu : job.gpus) {
        const auto [owner, added] = owners.emplace(fabric.gpu(gpu).host, &job);
        ASSERT_EQ(owner->second, &job) << number;
      }
    }
  }
}

TEST_F(DrawTest, StratifiedKindsAreEquallyFrequent) {
  for (const uint64_t seed : {1, 2, 3}) {
    std::map<std::optional<FaultKind>, uint32_t> kinds;
    constexpr uint32_t kCount = 400;
    for (uint32_t number = 1; number <= kCount; ++number)
      ++kinds[KindOf(Options(seed, true), number)];
    EXPECT_EQ(kinds[std::nullopt], kCount * 3 / 10);
    kinds.erase(std::nullopt);
    ASSERT_EQ(kinds.size(), kFaultKinds);
    const auto [least, most] =
        std::minmax_element(kinds.begin(), kinds.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; });
    EXPECT_LE(most->second - least->second, 1u);
    EXPECT_GE(least->second, 11u);
  }
}

// Pearson's chi-square test of a multinomial distribution. The quantile comes from the
// Wilson-Hilferty approximation, which is accurate to 1 % here.
TEST_F(DrawTest, WeightedKindsFollowTheirPriors) {
  DrawOptions options = Options(11, false);
  options.healthy = 0;
  constexpr uint32_t kCount = 4000;
  std::array<double, kFaultKinds> seen{};
  for (uint32_t number = 1; number <= kCount; ++number) {
    const auto kind = KindOf(options, number);
    ASSERT_TRUE(kind.has_value());
    ++seen[static_cast<size_t>(*kind)];
  }
  double sum = 0;
  for (const double weight : priors_.kinds) sum += weight;
  double chi_square = 0;
  double freedom = -1;
  for (size_t i = 0; i < kFaultKinds; ++i) {
    const double expected = kCount * priors_.kinds[i] / sum;
    if (expected == 0) {
      EXPECT_EQ(seen[i], 0) << kFaultInfos[i].name;
      continue;
    }
    chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    ++freedom;
  }
  constexpr double kNormalQuantile = 3.09;  // the 99.9 % quantile
  const double spread = 2 / (9 * freedom);
  const double limit = freedom * std::pow(1 - spread + kNormalQuantile * std::sqrt(spread), 3);
  EXPECT_GT(freedom, 5);
  EXPECT_LT(chi_square, limit);
}

TEST_F(DrawTest, SameSeedGivesTheSameText) {
  const DrawOptions options = Options(9, false);
  const std::string alone = Draw(options, 7).yaml;
  for (uint32_t number = 1; number < 7; ++number) Draw(options, number);
  EXPECT_EQ(Draw(options, 7).yaml, alone);
  EXPECT_NE(Draw(Options(10, false), 7).yaml, alone);
}

TEST_F(DrawTest, NumberOfControlsIsAsRequested) {
  DrawOptions options = Options(1, true);
  options.healthy = 0;
  EXPECT_TRUE(KindOf(options, 1).has_value());
  options.healthy = 1;
  for (uint32_t number = 1; number <= 10; ++number) EXPECT_FALSE(KindOf(options, number));
}

TEST(LossRateTest, IsRaisedIfNotObservable) {
  // 30,000 frames at a loss rate of 1e-5 lose 0.3 frames on average.
  EXPECT_DOUBLE_EQ(LiftedLossRate(1e-5, 30'000, 1), kExpectedLosses / 30'000);
  EXPECT_DOUBLE_EQ(LiftedLossRate(1e-5, 30'000, 4), 4 * kExpectedLosses / 30'000);
  EXPECT_DOUBLE_EQ(LiftedLossRate(1e-2, 30'000, 1), 1e-2);
  EXPECT_DOUBLE_EQ(LiftedLossRate(1e-5, 10, 1), kMaxLoss);
  EXPECT_DOUBLE_EQ(LiftedLossRate(1e-5, 0, 1), kMaxLoss);
}

// The share of each bucket is within four standard deviations of a binomial distribution.
TEST(LossRateTest, FollowsTheSharesOfTheBuckets) {
  const std::vector<Priors::LossRates> rates = {{1e-5, 1e-4, 1}, {1e-4, 1e-3, 3}};
  RandomSource dice(1, "test", 0);
  constexpr double kCount = 10'000;
  double low = 0;
  for (int i = 0; i < kCount; ++i) {
    const double rate = DrawLossRate(rates, dice);
    ASSERT_GE(rate, 1e-5);
    ASSERT_LE(rate, 1e-3);
    low += rate < 1e-4 ? 1 : 0;
  }
  EXPECT_NEAR(low, kCount / 4, 4 * std::sqrt(kCount * 0.25 * 0.75));
}

}  // namespace
}  // namespace rocescope::sim
