// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/job_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "testbeds/ovs_lab/endpoint/lab_fixture.h"

namespace rocescope::endpoint {
namespace {

const char* const kAllToAll =
    "seed: 5\n"
    "jobs: [{hosts: \"host[0-7]\", phases: [{collective: all_to_all, size: 1M}]}]\n";

std::vector<QueuePairEnd> EndsOf(const LabPlan& plan) {
  std::vector<QueuePairEnd> ends;
  for (const JobPlan& job : plan.jobs) {
    for (const Channel& channel : job.channels) {
      for (const Channel::Pair& pair : channel.pairs) {
        ends.push_back(pair.sender);
        ends.push_back(pair.receiver);
      }
    }
  }
  return ends;
}

TEST(JobPlan, IsTheSameOnAllHosts) {
  const auto first = EndsOf(MakePlan(kAllToAll, MakeFabric(8)));
  const auto second = EndsOf(MakePlan(kAllToAll, MakeFabric(8)));
  ASSERT_EQ(first.size(), 8u * 7 * 2);
  for (size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].qpn, second[i].qpn);
    EXPECT_EQ(first[i].first_psn, second[i].first_psn);
    EXPECT_EQ(first[i].udp_source_port, second[i].udp_source_port);
  }
}

TEST(JobPlan, AnotherStartHasOtherNumbers) {
  const auto first = EndsOf(MakePlan(kAllToAll, MakeFabric(8)));
  const auto again = EndsOf(MakePlan(std::string("start_number: 1\n") + kAllToAll, MakeFabric(8)));
  size_t same = 0;
  for (size_t i = 0; i < first.size(); ++i) same += first[i].qpn == again[i].qpn;
  EXPECT_LE(same, 1u);
}

TEST(JobPlan, AnotherJobDoesNotChangeTheNumbers) {
  const auto first = EndsOf(MakePlan(kAllToAll, MakeFabric(8)));
  const auto more =
      EndsOf(MakePlan(std::string(kAllToAll).substr(0, std::string(kAllToAll).size() - 2) +
                          ", {hosts: \"host[0-1]\", phases: [{collective: ring, size: 1M}]}]\n",
                      MakeFabric(8)));
  ASSERT_EQ(more.size(), first.size() + 4);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].qpn, more[i].qpn);
}

TEST(JobPlan, NumbersLookRandomAndAreValid) {
  const auto ends = EndsOf(MakePlan(kAllToAll, MakeFabric(8)));
  std::set<uint32_t> numbers;
  uint64_t sequential = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    numbers.insert(ends[i].qpn.value);
    EXPECT_GE(ends[i].qpn.value, 0x48u);
    EXPECT_LT(ends[i].qpn.value, 0xffffffu);
    EXPECT_LE(ends[i].first_psn, 0xffffffu);
    EXPECT_GE(ends[i].udp_source_port, 0xc000u);
    sequential += i > 0 && ends[i].qpn.value == ends[i - 1].qpn.value + 1;
  }
  EXPECT_GT(numbers.size(), ends.size() - 2);
  EXPECT_EQ(sequential, 0u);
  EXPECT_LT(*numbers.begin(), 0x200000u);
  EXPECT_GT(*numbers.rbegin(), 0xe00000u);
}

TEST(JobPlan, ANicNeverHasTheSameNumberTwice) {
  QueuePairNumbers numbers({.seed = 1});
  std::set<uint32_t> used;
  for (int i = 0; i < 100; ++i) used.insert(numbers.Choose(3, 42).qpn.value);
  EXPECT_EQ(used.size(), 100u);
}

TEST(JobPlan, RanksOfOneHostHaveNoChannel) {
  const LabPlan plan =
      MakePlan("jobs: [{hosts: \"host[0-1]\", phases: [{collective: ring, size: 1M}]}]\n",
               MakeFabric(2, 1, 4));
  const JobPlan& job = plan.jobs[0];
  EXPECT_EQ(job.nics.size(), 8u);
  ASSERT_EQ(job.channels.size(), 2u);  // 3 to 4, and 7 to 0
  EXPECT_EQ(job.channels[0].from + job.channels[1].from, 10u);
}

}  // namespace
}  // namespace rocescope::endpoint
