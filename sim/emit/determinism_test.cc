// SPDX-License-Identifier: BSD-3-Clause
// The same run gives the same bytes with all telemetry active at once.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/emit/counter_lines_file.h"
#include "sim/emit/counter_log.h"
#include "sim/emit/fan_out.h"
#include "sim/emit/int_postcards.h"
#include "sim/emit/mirror.h"
#include "sim/emit/sflow_agents.h"
#include "sim/emit/star_network.h"

namespace rocescope::sim {
namespace {

struct Written {
  std::vector<MemorySink::Kept> frames;
  std::string counters;

  bool operator==(const Written&) const = default;
};

// Two senders congest a port; all kinds of telemetry arrive through one collector port.
Written RunOnce(uint64_t seed) {
  // A unique name, because ctest runs these tests in parallel processes.
  const std::string path =
      ::testing::TempDir() + fmt::format("determinism_test_{}.jsonl", ::getpid());
  NetworkOptions options;
  options.seed = seed;
  StarNetwork star({{.session = 1, .direction = topology::TapDirection::kBoth, .ports = {0, 1, 2}}},
                   options);
  FanOut all;
  const auto mirror = Mirror::Make(star.network(), star.packets(), star.port(), {}).value();
  IntPostcards postcards(star.network(), star.packets(), star.port(), {.shift = 2});
  SflowAgents sflow(star.network(), star.packets(), star.port(),
                    {.rate = 8, .counter_period = kMillisecond, .seed = seed});
  const auto file = CounterLinesFile::Open(path).value();
  Watermarks watermarks(star.network());
  CounterLog log(star.network(), {.clock = {.epoch = FromNanoseconds(kTestEpochNs)}}, *file,
                 watermarks);
  all.Add(*mirror);
  all.Add(postcards);
  all.Add(sflow);
  star.switch_at().SetObserver(&all);
  sflow.Start();
  log.Start();
  for (int i = 0; i < 4; ++i) {
    star.Write(0, 2, 300'000);
    star.Write(1, 2, 300'000);
  }
  Written written{.frames = star.Run(5 * kMillisecond)};
  EXPECT_TRUE(file->Close());
  std::ifstream in(path);
  written.counters.assign(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(path);
  return written;
}

TEST(Emission, IsTheSameForOneSeed) {
  const Written first = RunOnce(7);
  EXPECT_GT(first.frames.size(), 1000u);
  EXPECT_FALSE(first.counters.empty());
  EXPECT_TRUE(first == RunOnce(7));
}

TEST(Emission, DiffersBetweenSeeds) { EXPECT_FALSE(RunOnce(7) == RunOnce(8)); }

TEST(Emission, ArrivesInOrder) {
  const Written written = RunOnce(7);
  for (size_t i = 1; i < written.frames.size(); ++i) {
    ASSERT_GE(written.frames[i].arrival, written.frames[i - 1].arrival);
  }
}

}  // namespace
}  // namespace rocescope::sim
