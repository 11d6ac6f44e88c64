// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/eal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#include "dataplane/port/test_port.h"

namespace rocescope::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Eal, StartsOncePerProcess) {
  TestEal();
  EXPECT_THAT(Eal::Start({"--no-huge"}).error().message, HasSubstr("once per process"));
}

TEST(Eal, ExplainsItsOptionsInsteadOfEndingTheProcess) {
  for (const char* word : {"-h", "--help", "--hel"}) {
    EXPECT_THAT(Eal::Start({word}).error().message, HasSubstr("EAL parameters")) << word;
  }
}

TEST(Eal, RequiresPrimaryProcess) {
  TestEal();
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--proc-type=secondary"}, {"--proc-type", "auto"}, {"--proc=s"}}) {
    EXPECT_THAT(Eal::Start(words).error().message, HasSubstr("--proc-type")) << words[0];
  }
  EXPECT_THAT(Eal::Start({"--no-pci", "--proc-type=primary"}).error().message,
              testing::Not(HasSubstr("--proc-type")));
}

TEST(Eal, RejectsDuplicateDevice) {
  TestEal();
  EXPECT_THAT(Eal::Start({"--vdev", "net_null0,size=64", "--vdev=net_null0"}).error().message,
              HasSubstr("net_null0 is given twice"));
}

TEST(Eal, RunsOneLoopPerLcore) {
  Eal& eal = TestEal();
  ASSERT_EQ(eal.lcore_count(), 2u);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<size_t> indices;
  eal.RunOnLcores(2, [&](size_t i) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    indices.insert(i);
  });
  EXPECT_EQ(threads.size(), 2u);
  EXPECT_EQ(indices, (std::set<size_t>{0, 1}));
}

TEST(Eal, RethrowsExceptionAfterAllLoopsHaveEnded) {
  for (const size_t thrower : {0, 1}) {
    std::atomic<bool> stop = false;
    std::atomic<int> ended = 0;
    const auto run = [&](size_t i) {
      if (i == thrower) {
        stop = true;
        throw std::bad_alloc();
      }
      while (!stop) std::this_thread::yield();
      ++ended;
    };
    EXPECT_THROW(TestEal().RunOnLcores(2, run), std::bad_alloc) << thrower;
    EXPECT_EQ(ended, 1);
  }
}

TEST(Eal, ReportsCoresOfLcores) {
  EXPECT_EQ(TestEal().Cores(), (std::vector<int>{0, 0}));  // two lcores on core 0
}

TEST(EalAdvice, CoversCommonErrors) {
  EXPECT_THAT(EalAdvice("Cannot get hugepage information."), HasSubstr("--no-huge"));
  EXPECT_THAT(EalAdvice("Is another primary process running?"), HasSubstr("--file-prefix"));
  EXPECT_THAT(EalAdvice("invalid core list syntax"), HasSubstr("-l expects core numbers"));
  EXPECT_THAT(EalAdvice("Operation not permitted"), HasSubstr("CAP_NET_RAW"));
  EXPECT_THAT(EalAdvice("Something else"), IsEmpty());
}

}  // namespace
}  // namespace rocescope::test
