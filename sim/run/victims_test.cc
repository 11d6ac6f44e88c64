// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/victims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <initializer_list>
#include <vector>

#include "sim/run/write_truth.h"

namespace rocescope::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Iterations of these times; a negative one is not complete.
JobWork Working(std::initializer_list<double> times, uint64_t retransmitted = 0) {
  JobWork work{.iterations = {}, .retransmitted = retransmitted};
  for (const double time : times) {
    work.iterations[{0, work.iterations.size()}] = {.time = std::abs(time),
                                                    .is_complete = time > 0};
  }
  return work;
}

TEST(IsVictimTest, SlowerByTwoPercentAndMoreThanChance) {
  const JobWork usual = Working({100, 100, 100, 100});
  EXPECT_TRUE(IsVictim(Working({103, 102, 104, 103}), usual));
  EXPECT_FALSE(IsVictim(Working({101, 102, 101, 102}), usual)) << "1.5 %";
  EXPECT_FALSE(IsVictim(Working({120, 90, 115, 90}), usual)) << "3.75 % by chance";
  EXPECT_FALSE(IsVictim(Working({90, 90, 90, 90}), usual));
  EXPECT_FALSE(IsVictim(Working({}), Working({})));
}

TEST(IsVictimTest, FewIterationsMustDifferMore) {
  EXPECT_FALSE(IsVictim(Working({105, 105}), Working({100, 100})));
  EXPECT_TRUE(IsVictim(Working({115, 110}), Working({100, 100})));
}

// An iteration that hangs is as long as it has lasted so far.
TEST(IsVictimTest, OneIterationThatHangsIsEnough) {
  const JobWork usual = Working({100, 100, 100, 100, 100});
  EXPECT_TRUE(IsVictim(Working({100, 100, 100, 100, -160}), usual));
  EXPECT_FALSE(IsVictim(Working({100, 100, 100, 100, -90}), usual));
  EXPECT_TRUE(IsVictim(Working({100, 100, 180, 100, 100}), usual));
}

TEST(IsVictimTest, MoreRetransmissions) {
  EXPECT_TRUE(IsVictim(Working({100}, 1), Working({100})));
  EXPECT_FALSE(IsVictim(Working({}, 110), Working({}, 100)));
  EXPECT_TRUE(IsVictim(Working({}, 200), Working({}, 100)));
}

// Two jobs, each of which uses both leaves.
Scenario Make(const std::string& faults) {
  const std::string text =
      "name: test\n"
      "duration: 6ms\n"
      "fabric: {generate: {shape: leaf-spine, hosts: 8, leaves: 2, spines: 2, host_speed: 100G, "
      "fabric_speed: 100G}}\n"
      "jobs:\n"
      "- {name: one, hosts: 'host0,host4', phases: [{collective: ring, size: 1M, compute: "
      "100us}]}\n"
      "- {name: two, hosts: 'host1,host5', phases: [{collective: ring, size: 1M, compute: "
      "100us}]}\n"
      "telemetry: {mirror: none, counter_period: 0, nccl: none, slurm: false}\n" +
      faults;
  auto scenario = LoadScenario(text, "test.yaml");
  EXPECT_TRUE(scenario.has_value()) << scenario.error().message;
  return *std::move(scenario);
}

v1::Truth TruthWithVictims(const Scenario& scenario) {
  auto simulation = Simulation::Make(scenario, {}).value();
  EXPECT_TRUE(simulation->Run({}).has_value());
  const Outcome outcome = OutcomeOf(*simulation);
  VictimStudy study(*simulation, outcome);
  v1::Truth truth = TruthOf(*simulation, outcome);
  for (const v1::TruthFault& fault : truth.faults()) {
    EXPECT_TRUE(fault.affected_jobs_unknown());
    EXPECT_THAT(fault.affected_jobs(), IsEmpty());
  }
  simulation.reset();
  EXPECT_TRUE(study.Run(PacketRunWithout(scenario), {}, truth).has_value());
  return truth;
}

TEST(VictimStudyTest, LossOnAHostLinkAffectsOnlyItsJob) {
  const Scenario scenario =
      Make("faults: [{kind: gray_loss, link: 'leaf0:Ethernet1', onset: 2ms, probability: 0.05}]\n");
  const v1::Truth truth = TruthWithVictims(scenario);
  ASSERT_EQ(truth.faults_size(), 1);
  EXPECT_FALSE(truth.faults(0).affected_jobs_unknown());
  EXPECT_THAT(truth.faults(0).affected_jobs(), ElementsAre("one"));
  EXPECT_THAT(truth.faults(0).exposed_jobs(), IsEmpty());
}

TEST(VictimStudyTest, StragglerAffectsItsJob) {
  const Scenario scenario =
      Make("faults: [{kind: straggler, gpu: 'host1:0', onset: 2ms, factor: 2}]\n");
  EXPECT_THAT(TruthWithVictims(scenario).faults(0).affected_jobs(), ElementsAre("two"));
}

// A delay of 100 ns changes an iteration of about 300 us by far less than 2 %.
TEST(VictimStudyTest, ExposedJobIsNoVictim) {
  const Scenario scenario =
      Make("faults: [{kind: added_latency, link: 'leaf0:Ethernet1', onset: 2ms, delay: 100ns}]\n");
  const v1::Truth truth = TruthWithVictims(scenario);
  EXPECT_NE(truth.faults(0).visible_ns(), 0);
  EXPECT_THAT(truth.faults(0).affected_jobs(), IsEmpty());
  EXPECT_THAT(truth.faults(0).exposed_jobs(), ElementsAre("one"));
}

TEST(VictimStudyTest, EachOfTwoFaultsHasItsOwnVictims) {
  const Scenario scenario = Make(
      "faults:\n"
      "- {kind: gray_loss, link: 'leaf0:Ethernet1', onset: 2ms, duration: 2ms, probability: 0.05}\n"
      "- {kind: straggler, gpu: 'host5:0', onset: 1ms, factor: 3}\n");
  const v1::Truth truth = TruthWithVictims(scenario);
  EXPECT_THAT(truth.faults(0).affected_jobs(), ElementsAre("one"));
  EXPECT_THAT(truth.faults(1).affected_jobs(), ElementsAre("two"));
}

// Until the onset, both runs are the same, whatever queue pairs the fault creates.
TEST(VictimStudyTest, RunWithoutAFaultIsTheSameBeforeIt) {
  const Scenario scenario = Make(
      "faults: [{kind: incast, nic: host4, senders: 'host[6-7]', onset: 3ms}]\n"
      "foreign: [{from: host2, to: host6}]\n");
  const auto iterations = [&](const Simulation::Output& output) {
    auto simulation = Simulation::Make(scenario, output).value();
    EXPECT_TRUE(simulation->Run({}, 3 * kMillisecond).has_value());
    std::vector<SimTime> ends;
    for (const auto& job : simulation->jobs()) {
      for (const Job::Iteration& iteration : job->iterations()) ends.push_back(iteration.end);
    }
    return ends;
  };
  const std::vector<SimTime> with_fault = iterations({});
  EXPECT_GT(with_fault.size(), 10u);
  EXPECT_EQ(iterations({.directory = {}, .without_fault = 0}), with_fault);
}

TEST(VictimStudyTest, StudyEndsSomeTimeAfterTheFault) {
  const Scenario scenario = Make("");
  const auto until = [&](SimTime duration) {
    return UntilOfVictims(scenario, {.onset = kMillisecond, .duration = duration});
  };
  EXPECT_EQ(until(kMillisecond), 2 * kMillisecond + 2 * 670 * kMicrosecond);  // two timeouts
  EXPECT_EQ(until(kNever), 6 * kMillisecond);
  EXPECT_EQ(until(4'500 * kMicrosecond), 6 * kMillisecond);
}

}  // namespace
}  // namespace rocescope::sim
