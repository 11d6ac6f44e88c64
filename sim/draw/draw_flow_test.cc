// SPDX-License-Identifier: BSD-3-Clause
// Draws of scenarios for the flow model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "sim/draw/draw.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kFlowScenarios = 120;
constexpr SimTime kHour = 3600 * kSecond;

DrawOptions FlowOptions() {
  std::ifstream file(ROCESCOPE_PRIORS, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return {.model = Model::kFlow,
          .seed = 4,
          .priors = LoadPriors(text, "priors.yaml").value(),
          .stratified = true,
          .most_faults = kMaxConcurrent,
          .benign = true};
}

DrawnScenario Draw(const DrawOptions& options, uint32_t number) {
  auto drawn = DrawScenario(options, number);
  EXPECT_TRUE(drawn.has_value()) << drawn.error().message;
  return drawn.value_or(DrawnScenario{});
}

Scenario Load(const DrawnScenario& drawn) {
  auto scenario = LoadScenario(drawn.yaml, drawn.name);
  EXPECT_TRUE(scenario.has_value()) << scenario.error().message << "\n" << drawn.yaml;
  return scenario.value_or(Scenario{});
}

// The same scenarios for all tests, because each takes a while to draw.
class DrawFlowTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    for (uint32_t number = 1; number <= kFlowScenarios; ++number) {
      drawn_.push_back(Draw(FlowOptions(), number));
      scenarios_.push_back(Load(drawn_.back()));
      ASSERT_TRUE(scenarios_.back().fabric.has_value());
    }
  }
  static void TearDownTestSuite() {
    drawn_.clear();
    scenarios_.clear();
  }

  static inline std::vector<DrawnScenario> drawn_;
  static inline std::vector<Scenario> scenarios_;
};

TEST_F(DrawFlowTest, RunsLastHoursAndTimesAreNotScaled) {
  std::set<size_t> gpus;
  for (const Scenario& scenario : scenarios_) {
    EXPECT_EQ(scenario.model, Model::kFlow);
    EXPECT_GE(scenario.duration, kHour);
    EXPECT_LE(scenario.duration, 6 * kHour);
    EXPECT_EQ(scenario.time_scale, 1);
    EXPECT_EQ(scenario.analysis_window, std::chrono::seconds(30));
    gpus.insert(scenario.fabric->gpus().size());
  }
  EXPECT_EQ(gpus, (std::set<size_t>{64, 128, 256, 288, 512}));
}

TEST_F(DrawFlowTest, AHostBelongsToOneJobAtATime) {
  uint32_t successions = 0;
  for (const Scenario& scenario : scenarios_) {
    std::map<topology::NodeIndex, std::set<const JobOptions*>> users;
    for (const JobOptions& job : scenario.jobs) {
      for (const topology::GpuIndex gpu : job.gpus) {
        users[scenario.fabric->gpu(gpu).host].insert(&job);
      }
    }
    for (const auto& [host, jobs] : users) {
      for (const JobOptions* a : jobs) {
        for (const JobOptions* b : jobs) {
          if (a == b) continue;
          EXPECT_TRUE(a->end < b->start || b->end < a->start) << scenario.name;
          ++successions;
        }
      }
    }
  }
  EXPECT_GT(successions, 0u);
}

TEST_F(DrawFlowTest, JobsStartStopAndRestart) {
  uint32_t late = 0;
  uint32_t ended = 0;
  uint32_t restarts = 0;
  uint32_t checkpoints = 0;
  uint32_t interludes = 0;
  for (const Scenario& scenario : scenarios_) {
    for (const JobOptions& job : scenario.jobs) {
      EXPECT_LT(job.start, scenario.duration);
      late += job.start > scenario.duration / 50;
      ended += job.end < scenario.duration;
      restarts += !job.restarts.empty();
      checkpoints += job.checkpoint.every > 0;
      interludes += !job.interludes.empty();
      for (const JobOptions::Restart& restart : job.restarts) {
        EXPECT_GT(restart.at, job.start);
        EXPECT_LT(restart.at + restart.downtime, std::min(job.end, scenario.duration));
      }
    }
  }
  for (const uint32_t count : {late, ended, restarts, checkpoints, interludes}) {
    EXPECT_GT(count, 10u);
  }
}

TEST_F(DrawFlowTest, BenignEventsOfAllKindsAreDrawn) {
  std::set<MaintenanceKind> maintenance;
  uint32_t temporary = 0;
  for (const Scenario& scenario : scenarios_) {
    EXPECT_TRUE(scenario.benign.bit_error_ratio.on());
    EXPECT_GT(scenario.benign.microbursts.period, 0);
    EXPECT_FALSE(scenario.foreign.empty());
    EXPECT_FALSE(scenario.network.switches.spray);
    for (const MaintenanceOptions& work : scenario.maintenance) maintenance.insert(work.kind);
    for (const TcpFlow::Options& flow : scenario.foreign) temporary += flow.end != kNever;
  }
  EXPECT_EQ(maintenance.size(), 3u);
  EXPECT_GT(temporary, 0u);
}

TEST_F(DrawFlowTest, ZeroToFourFaultsOfAllKindsThatTheModelShows) {
  std::set<size_t> counts;
  std::set<FaultKind> kinds;
  for (size_t i = 0; i < scenarios_.size(); ++i) {
    const Scenario& scenario = scenarios_[i];
    ASSERT_EQ(scenario.faults.size(), drawn_[i].kinds.size());
    counts.insert(scenario.faults.size());
    for (const FaultOptions& fault : scenario.faults) {
      kinds.insert(fault.kind);
      EXPECT_FALSE(NeedsPackets(fault.kind)) << scenario.name;
      EXPECT_LT(fault.onset, scenario.duration);
    }
  }
  EXPECT_EQ(counts, (std::set<size_t>{0, 1, 2, 3, 4}));
  // Three kinds need packets in queues or their order, and three others mirrored packets.
  EXPECT_EQ(kinds.size(), kFaultKinds - 6);
  for (const FaultKind kind :
       {FaultKind::kIncast, FaultKind::kNoisyNeighbour, FaultKind::kAddedLatency}) {
    EXPECT_FALSE(kinds.contains(kind)) << InfoOf(kind).name;
  }
}

TEST_F(DrawFlowTest, MagnitudesCoverTheRangeOfTheField) {
  std::vector<double> losses;
  std::vector<SimTime> flaps;
  uint32_t growing = 0;
  for (const Scenario& scenario : scenarios_) {
    for (const FaultOptions& fault : scenario.faults) {
      growing += fault.growth < 1;
      if (fault.kind == FaultKind::kFlap) {
        EXPECT_GE(fault.period, 4 * kSecond);
        const SimTime lasts = std::min(fault.duration, scenario.duration - fault.onset);
        EXPECT_LE(fault.period, std::max(20 * kSecond, lasts / 2));
        flaps.push_back(fault.period);
      }
      if (fault.kind == FaultKind::kGrayLoss || fault.kind == FaultKind::kBitErrors ||
          fault.kind == FaultKind::kCorruption) {
        EXPECT_GE(fault.probability, 2.9e-8);  // written with three digits
        EXPECT_LE(fault.probability, 1.01e-2);
        losses.push_back(fault.probability);
      }
    }
  }
  EXPECT_GT(growing, 0u);
  ASSERT_FALSE(flaps.empty());
  EXPECT_LT(*std::ranges::min_element(flaps), 60 * kSecond);
  EXPECT_GT(*std::ranges::max_element(flaps), 300 * kSecond);
  ASSERT_FALSE(losses.empty());
  EXPECT_LT(*std::ranges::min_element(losses), 1e-6);
  EXPECT_GT(*std::ranges::max_element(losses), 1e-3);
}

TEST_F(DrawFlowTest, StragglersSlowDownAJobThatRuns) {
  uint32_t stragglers = 0;
  for (const Scenario& scenario : scenarios_) {
    for (const FaultOptions& fault : scenario.faults) {
      if (fault.kind != FaultKind::kStraggler) continue;
      ++stragglers;
      EXPECT_TRUE(std::ranges::any_of(scenario.jobs, [&](const JobOptions& job) {
        return std::ranges::find(job.gpus, fault.gpu) != job.gpus.end() &&
               job.start < std::min(EndOf(fault), scenario.duration) && fault.onset < job.end;
      })) << scenario.name;
    }
  }
  EXPECT_GT(stragglers, 0u);
}

// Whether a job that runs during the fault uses the fault's host.
bool HitsAJob(const Scenario& scenario, const FaultOptions& fault) {
  const topology::Fabric& fabric = *scenario.fabric;
  const topology::NodeIndex host =
      fault.gpu != topology::kNone ? fabric.gpu(fault.gpu).host : fabric.nic(fault.nic).host;
  return std::ranges::any_of(scenario.jobs, [&](const JobOptions& job) {
    return job.start < std::min(EndOf(fault), scenario.duration) && fault.onset < job.end &&
           std::ranges::any_of(
               job.gpus, [&](topology::GpuIndex gpu) { return fabric.gpu(gpu).host == host; });
  });
}

TEST_F(DrawFlowTest, FaultsOfNicsHitAJobThatRuns) {
  uint32_t faults = 0;
  for (const Scenario& scenario : scenarios_) {
    for (const FaultOptions& fault : scenario.faults) {
      if (InfoOf(fault.kind).place != PlaceKind::kNic) continue;
      ++faults;
      EXPECT_TRUE(HitsAJob(scenario, fault)) << scenario.name;
    }
  }
  EXPECT_GT(faults, 20u);
}

// In this scenario, a job at the first fault's place ends before the second fault.
TEST_F(DrawFlowTest, FaultsAtThePlaceOfAnotherFaultHitAJobThatRuns) {
  DrawOptions options = FlowOptions();
  options.healthy = 0;
  options.seed = 16;
  const Scenario scenario = Load(Draw(options, 189));
  ASSERT_EQ(scenario.faults.size(), 2u);
  EXPECT_TRUE(HitsAJob(scenario, scenario.faults[1]));
}

// Without paths of flows, a diagnosis cannot see faults such as polarisation.
TEST_F(DrawFlowTest, SflowSamplesPacketsAroundFaults) {
  for (const Scenario& scenario : scenarios_) {
    EXPECT_GT(scenario.telemetry.sflow_rate, 0u);
    ASSERT_TRUE(scenario.telemetry.sflow_spans.has_value());
    EXPECT_EQ(scenario.telemetry.sflow_spans->length, 60 * kSecond);
  }
}

TEST_F(DrawFlowTest, SameSeedGivesTheSameText) {
  EXPECT_EQ(Draw(FlowOptions(), 7).yaml, drawn_[6].yaml);
  DrawOptions other = FlowOptions();
  other.seed = 5;
  EXPECT_NE(Draw(other, 7).yaml, drawn_[6].yaml);
}

TEST_F(DrawFlowTest, WindowsSetTheLengthOfTheRun) {
  DrawOptions options = FlowOptions();
  options.windows = 40;
  EXPECT_EQ(Load(Draw(options, 3)).duration, 1200 * kSecond);
}

TEST_F(DrawFlowTest, PriorsOfOtherKindsOnlyAreRefused) {
  DrawOptions options = FlowOptions();
  options.stratified = false;
  options.healthy = 0;
  options.priors.kinds = {};
  options.priors.kinds[static_cast<size_t>(FaultKind::kPfcDeadlock)] = 1;
  const auto drawn = DrawScenario(options, 1);
  ASSERT_FALSE(drawn.has_value());
  EXPECT_THAT(drawn.error().message, ::testing::HasSubstr("flow model"));
}

}  // namespace
}  // namespace rocescope::sim
