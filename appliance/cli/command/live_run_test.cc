// SPDX-License-Identifier: BSD-3-Clause
// Tests the control thread with simulated worker cores, without ports and EAL.
#include "appliance/cli/command/live_run.h"

#include <gtest/gtest.h>

#include <new>

namespace rocescope {
namespace {

Loops OneLoop() {
  Loops loops;
  loops.push_back(std::make_unique<ReceiveLoop>(
      ReceiveLoop::Options{.processor = {.flow_table = {.capacity = 1}, .captures = {"port"}}}));
  return loops;
}

void HandOver(const Loops& loops) {
  loops[0]->records().HandOver(Timestamp{}, RecordExchange::WhenFull::kKeep);
}

LiveRun::Sink SinkOf(std::function<void()> ingest) {
  return {.records = {.ingest = [ingest](const RecordBatch&) { ingest(); },
                      .advance = [](Timestamp) {}},
          .note = [](const std::string&) {}};
}

TEST(LiveRun, EndsInTimeWhenItsReaderIsAlwaysBehind) {
  const Ports none;
  const Loops loops = OneLoop();
  const std::atomic<bool>* stop = nullptr;
  int batches = 0;
  LiveRun run(none, loops,
              SinkOf([&] {  // the next batch arrives before this one is processed
                ++batches;
                if (!*stop) HandOver(loops);
              }),
              Duration::zero());
  stop = &run.stop();
  HandOver(loops);
  run.LcoresEnded();
  run.Run();
  EXPECT_TRUE(run.stop());
  EXPECT_EQ(batches, 2);
}

TEST(LiveRun, TakesAllThatLcoresHandedOverBeforeTheyEnded) {
  const Ports none;
  const Loops loops = OneLoop();
  int batches = 0;
  LiveRun run(none, loops, SinkOf([&] { ++batches; }), {});
  for (int i = 0; i < 5; ++i) HandOver(loops);
  run.LcoresEnded();
  run.Run();
  EXPECT_FALSE(run.stop());
  EXPECT_EQ(batches, 5);
}

TEST(LiveRun, StopsTheLoopsOnAnException) {
  const Ports none;
  const Loops loops = OneLoop();
  LiveRun run(none, loops, SinkOf([] { throw std::bad_alloc(); }), {});
  HandOver(loops);
  EXPECT_THROW(run.Run(), std::bad_alloc);
  EXPECT_TRUE(run.stop());
  // A receiving core that waits for the reader would hang here.
  for (size_t i = 0; i < RecordExchange::kBatches; ++i) {
    loops[0]->records().HandOver(Timestamp{}, RecordExchange::WhenFull::kWait);
  }
}

}  // namespace
}  // namespace rocescope
