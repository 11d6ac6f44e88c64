// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/process_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A log of process 1 on a host, with communicators at these addresses.
NcclLog LogOf(const std::string& name, const std::string& host,
              const std::vector<uint64_t>& pointers) {
  NcclLog log;
  log.source_name = name;
  NcclProcess& process = log.processes.emplace_back();
  process.host = host;
  process.process_id = 1;
  for (const uint64_t pointer : pointers) {
    NcclCommunicator& communicator = process.communicators.emplace_back();
    communicator.pointer = pointer;
    communicator.rank = 0;
    communicator.rank_count = 2;
  }
  return log;
}

std::vector<LoggedProcess> Collect(const std::vector<NcclLog>& logs) {
  std::vector<const NcclLog*> pointers;
  for (const NcclLog& log : logs) pointers.push_back(&log);
  return CollectProcesses(pointers);
}

TEST(CollectProcesses, KeepsTheMostCompleteCopy) {
  // The second one ends earlier, and the third one starts later.
  const std::vector<NcclLog> logs = {LogOf("whole", "a", {1, 2, 3}), LogOf("begin", "a", {1}),
                                     LogOf("end", "a", {2, 3}), LogOf("none", "a", {})};
  const auto processes = Collect(logs);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].source, "whole");
  EXPECT_EQ(processes[0].notes.size(), 3u);
  EXPECT_THAT(processes[0].notes[0], HasSubstr("a:1 is also in end; the copy in whole is used"));
}

TEST(CollectProcesses, DistinguishesProcessesWithOneName) {
  const std::vector<NcclLog> logs = {LogOf("x", "a", {1}), LogOf("y", "a", {2})};
  const auto processes = Collect(logs);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_THAT(processes[0].notes, IsEmpty());
  EXPECT_THAT(processes[1].notes,
              ElementsAre(HasSubstr("x and y each contain a process a:1 with different")));
}

TEST(CollectProcesses, DistinguishesHostsOfDifferentDomains) {
  const std::vector<NcclLog> logs = {LogOf("x", "a.one", {1}), LogOf("y", "a.two", {1}),
                                     LogOf("z", "a.two", {1, 2})};
  const auto processes = Collect(logs);
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].source, "x");
  EXPECT_EQ(processes[1].source, "z");
  EXPECT_THAT(processes[0].notes, IsEmpty());
}

TEST(CollectProcesses, ATruncatedNameMatchesAnyDomain) {
  const std::vector<NcclLog> logs = {LogOf("x", "A.", {1}), LogOf("y", "a.one.org", {1, 2}),
                                     LogOf("z", "a.one", {1, 2, 3})};
  const auto processes = Collect(logs);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].notes.size(), 2u);
}

TEST(CollectProcesses, ProcessesOfDifferentHostsGetNoNote) {
  std::vector<NcclLog> logs;
  for (uint64_t i = 0; i < 10; ++i) {
    logs.push_back(LogOf(fmt::format("{}.log", i), fmt::format("a.pod{}", i), {i}));
  }
  for (const LoggedProcess& process : Collect(logs)) EXPECT_THAT(process.notes, IsEmpty());
}

// An agent can report thousands of logs that name the same process, or hosts with the same name in
// different domains.
class ManyLogs : public testing::TestWithParam<bool> {};

TEST_P(ManyLogs, TakeLinearTimeAndGetFewNotes) {
  constexpr uint64_t kLogs = 50'000;
  std::vector<NcclLog> logs;
  for (uint64_t i = 0; i < kLogs; ++i) {
    logs.push_back(
        LogOf(fmt::format("{}.log", i), GetParam() ? fmt::format("a.d{}", i) : "a", {i}));
  }
  const auto began = std::chrono::steady_clock::now();
  const auto processes = Collect(logs);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(processes.size(), kLogs);
  size_t notes = 0;
  for (const LoggedProcess& process : processes) notes += process.notes.size();
  EXPECT_EQ(notes, GetParam() ? 0u : 4u);
  if (GetParam()) return;
  EXPECT_THAT(processes[0].notes, ElementsAre(HasSubstr("49,996 further processes named a:1")));
}

// An index of each of the 200 labels takes 3.6 GB and 39 s for these processes (when it was
// measured).
TEST(CollectProcesses, ANameOfManyLabelsTakesNoMoreThanAnyOther) {
  std::string host = "a";
  for (int i = 1; i < 200; ++i) host += ".a";
  NcclLog log;
  log.source_name = "x";
  for (uint64_t i = 0; i < 30'000; ++i) {
    NcclProcess& process = log.processes.emplace_back();
    process.host = host;
    process.process_id = i;
    process.communicators.push_back({.pointer = i, .rank = 0, .rank_count = 2});
  }
  const NcclLog* const logs[] = {&log};
  const std::clock_t start = std::clock();
  const auto processes = CollectProcesses(logs);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(processes.size(), log.processes.size());
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 3) << "processor time";
#else
  static_cast<void>(seconds);
#endif
}

INSTANTIATE_TEST_SUITE_P(Domains, ManyLogs, testing::Bool());

}  // namespace
}  // namespace rocescope
