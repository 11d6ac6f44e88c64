// SPDX-License-Identifier: BSD-3-Clause
// Reads the file back with the reader of dataplane/run.
#include "sim/emit/counter_log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "dataplane/run/counter_line.h"
#include "sim/emit/counter_lines_file.h"
#include "sim/emit/star_network.h"

namespace rocescope::sim {
namespace {

class CounterLogTest : public ::testing::Test {
 protected:
  // A unique name, because ctest runs these tests in parallel processes.
  explicit CounterLogTest()
      : path_(::testing::TempDir() + fmt::format("counter_log_test_{}.jsonl", ::getpid())) {}
  ~CounterLogTest() override { std::filesystem::remove(path_); }

  void Start(const NetworkOptions& options = {}) {
    star_ = std::make_unique<StarNetwork>(std::vector<topology::Tap>{}, options);
    file_ = CounterLinesFile::Open(path_).value();
    watermarks_.emplace(star_->network());
    log_ = std::make_unique<CounterLog>(
        star_->network(),
        CounterLogOptions{.clock = {.epoch = FromNanoseconds(kTestEpochNs)},
                          .period = 10 * kMillisecond},
        *file_, *watermarks_);
    log_->Start();
  }
  void Run(SimTime end) {
    star_->Run(end);
    EXPECT_TRUE(file_->Close());
    std::ifstream in(path_);
    for (std::string text; std::getline(in, text);) {
      auto line = ParseCounterLine(text);
      ASSERT_TRUE(line) << text << ": " << line.error().message;
      EXPECT_TRUE(lines_.empty() || line->time >= lines_.back().time);
      lines_.push_back(std::move(*line));
    }
  }

  // Returns the value at `ms` milliseconds, or -1 if there is none.
  int64_t Value(int64_t ms, std::string_view port, Metric metric,
                uint8_t priority = CounterEntity::kAllPriorities) const {
    for (const CounterLine& line : lines_) {
      if (line.entity.port != port || line.entity.priority != priority ||
          ToNanoseconds(line.time) != kTestEpochNs + ms * 1'000'000 ||
          (line.entity.kind == EntityKind::kNic && line.entity.node != "host2")) {
        continue;
      }
      for (const auto& [which, value] : line.metrics) {
        if (which == metric) return static_cast<int64_t>(value);
      }
    }
    return -1;
  }

  const std::string path_;
  std::unique_ptr<StarNetwork> star_;
  std::unique_ptr<CounterLinesFile> file_;
  std::optional<Watermarks> watermarks_;
  std::unique_ptr<CounterLog> log_;
  std::vector<CounterLine> lines_;
};

TEST_F(CounterLogTest, ReadsPortsAndNicsAtOnceAndAfterEachPeriod) {
  Start();
  star_->Write(0, 2);
  Run(25 * kMillisecond);
  std::map<int64_t, size_t> lines_at;
  for (const CounterLine& line : lines_) ++lines_at[ToNanoseconds(line.time) - kTestEpochNs];
  // Three ports and three NICs, each with one line of its own and one for each of the priorities 3
  // and 6.
  EXPECT_EQ(lines_at, (std::map<int64_t, size_t>{{0, 18}, {10'000'000, 18}, {20'000'000, 18}}));
  EXPECT_EQ(Value(0, "Ethernet1", Metric::kRxPackets), 0);
  EXPECT_EQ(Value(10, "Ethernet1", Metric::kRxPackets), 1);
  EXPECT_EQ(Value(10, "Ethernet1", Metric::kRxBytes), 1074);
  EXPECT_EQ(Value(20, "Ethernet3", Metric::kTxBytes), 1074);
  EXPECT_EQ(Value(20, "mlx5_0", Metric::kRxPackets), 1);
  EXPECT_EQ(Value(20, "Ethernet3", Metric::kLinkSpeed), 100'000'000'000);
}

TEST_F(CounterLogTest, ReportsCongestionByPriority) {
  NetworkOptions options;
  options.switches.buffer.bytes = 400'000;
  options.switches.ecn = {.minimum = 20'000, .maximum = 60'000};
  Start(options);
  star_->Write(0, 2, 1'000'000);
  star_->Write(1, 2, 1'000'000);
  Run(25 * kMillisecond);
  const Port& ingress = star_->switch_at().port(0);
  EXPECT_GT(Value(10, "Ethernet1", Metric::kPfcTx, 3), 0);
  EXPECT_EQ(Value(10, "Ethernet1", Metric::kPfcTx, 3),
            static_cast<int64_t>(ingress.counters().pause_tx[3]));
  EXPECT_EQ(Value(0, "Ethernet1", Metric::kPfcTx, 3), 0);
  // The sender was paused for the requested time, minus the propagation delay of XOFF and XON.
  EXPECT_GT(Value(10, "Ethernet1", Metric::kPfcTxTime, 3), 1000);
  EXPECT_EQ(Value(10, "Ethernet1", Metric::kPfcTxTime, 3), ingress.PausingFor(3) / kNanosecond);
  EXPECT_NEAR(static_cast<double>(ingress.PausingFor(3)),
              static_cast<double>(ingress.peer()->PausedFor(3)),
              static_cast<double>(ingress.counters().pause_tx[3] * 200 * kNanosecond));
  // All queued frames came in through one of the two ports and occupy the buffer of that port.
  EXPECT_GE(Value(10, "Ethernet1", Metric::kBufferWatermark, 3) +
                Value(10, "Ethernet2", Metric::kBufferWatermark, 3),
            Value(10, "Ethernet3", Metric::kQueueWatermark, 3));
  EXPECT_EQ(Value(20, "Ethernet1", Metric::kBufferWatermark, 3), 0) << "since the last reading";
  EXPECT_GT(Value(10, "Ethernet3", Metric::kQueueWatermark, 3), 50'000);
  EXPECT_EQ(Value(20, "Ethernet3", Metric::kQueueWatermark, 3), 0) << "since the last reading";
  EXPECT_EQ(Value(20, "Ethernet3", Metric::kEcnMarked, 3),
            Value(20, "mlx5_0", Metric::kEcnMarkedRoce));
  EXPECT_GT(Value(20, "mlx5_0", Metric::kCnpSent), 0);
}

// A second log with a shorter period does not change the readings of the first one.
TEST_F(CounterLogTest, SeveralLogsHaveTheirOwnWatermarks) {
  NetworkOptions options;
  options.switches.buffer.bytes = 400'000;
  const auto run = [&](bool with_second) {
    Start(options);
    const std::string second_path = path_ + ".second";
    const auto second_file = CounterLinesFile::Open(second_path).value();
    CounterLog second(star_->network(), {.period = 700 * kMicrosecond}, *second_file, *watermarks_);
    if (with_second) second.Start();
    star_->Write(0, 2, 1'000'000);
    star_->Write(1, 2, 1'000'000);
    lines_.clear();
    Run(25 * kMillisecond);
    std::filesystem::remove(second_path);
    std::ifstream in(path_);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string alone = run(false);
  EXPECT_EQ(alone, run(true));
  EXPECT_GT(Value(10, "Ethernet3", Metric::kQueueWatermark, 3), 50'000);
}

// The order of the metrics is part of the format that earlier versions wrote.
TEST_F(CounterLogTest, LinesKeepTheirBytes) {
  Start();
  Run(5 * kMillisecond);
  std::ifstream in(path_);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(
      line,
      fmt::format(
          R"({{"time_ns":{},"kind":"port","entity":{{"node":"leaf0","port":"Ethernet1"}},"metrics":)"
          R"({{"rx_bytes":0,"rx_packets":0,"tx_bytes":0,"tx_packets":0,"fcs_errors":0,)"
          R"("link_up":1,"link_flaps":0,"link_speed":100000000000,"rx_discards":0,)"
          R"("tx_discards":0,"ttl_drops":0,"no_route_drops":0,"mtu_drops":0,"admin_up":1}}}})",
          kTestEpochNs));
}

TEST_F(CounterLogTest, DilatedClockScalesTimesAndSpeeds) {
  Start();
  const CounterLogOptions& options = log_->options();
  const WallClock slow = {.epoch = options.clock.epoch, .dilation = 1000};
  EXPECT_EQ(slow.At(3 * kMicrosecond), options.clock.epoch + std::chrono::milliseconds(3));
  EXPECT_EQ(slow.Length(1500), Duration(1500)) << "1.5 ns";
  const WallClock as_it_is;
  EXPECT_EQ(as_it_is.Length(INT64_MAX), Duration(INT64_MAX / 1000)) << "no overflow";
  EXPECT_EQ(slow.Speed(100'000'000'000), 100'000'000u);
}

TEST_F(CounterLogTest, ReportsDropReasons) {
  Start();
  star_->switch_at().options().mtu = 1500;
  star_->Write(0, 2, 4096);
  star_->network().engine().At(kMicrosecond * 100,
                               [this] { star_->switch_at().port(1).SetUp(false); });
  star_->WriteAt(kMillisecond, 0, 1);
  Run(15 * kMillisecond);
  EXPECT_EQ(Value(10, "Ethernet3", Metric::kMtuDrops), 1);
  EXPECT_EQ(Value(10, "Ethernet2", Metric::kTxDiscards), 1);
  EXPECT_EQ(Value(10, "Ethernet2", Metric::kLinkUp), 0);
  EXPECT_EQ(Value(0, "Ethernet2", Metric::kLinkFlaps), 0);
  EXPECT_EQ(Value(10, "Ethernet2", Metric::kLinkFlaps), 1);
  EXPECT_EQ(Value(10, "Ethernet1", Metric::kRxDiscards), 0);
}

}  // namespace
}  // namespace rocescope::sim
