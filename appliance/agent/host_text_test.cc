// SPDX-License-Identifier: BSD-3-Clause
// Parsers of /proc and driver data: process environments, GPUs, interface statistics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/agent/clock_estimate.h"
#include "appliance/agent/gpu_information.h"
#include "appliance/agent/interface_counters.h"
#include "appliance/agent/made_tree.h"
#include "appliance/agent/process_environment.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using namespace std::string_literals;
using namespace std::string_view_literals;

TEST(ProcessEnvironment, ReadsLauncherVariables) {
  const auto read = ParseProcessEnvironment(
      "PATH=/bin\0SLURM_JOB_ID=4242\0SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=8\0"
      "AWS_SECRET_ACCESS_KEY=x\0CUDA_VISIBLE_DEVICES=0,1\0"sv);
  EXPECT_EQ(read.slurm_job_id, 4242u);
  EXPECT_EQ(read.rank, 3u);
  EXPECT_EQ(read.local_rank, 1u);
  EXPECT_EQ(read.world_size, 8u);
  EXPECT_EQ(read.visible_gpus, "0,1");
}

TEST(ProcessEnvironment, PrefersTheInnermostLauncher) {
  // srun starts one process per node, and torchrun starts one per GPU below it.
  EXPECT_EQ(ParseProcessEnvironment("RANK=11\0SLURM_PROCID=1\0"sv).rank, 11u);
  EXPECT_EQ(ParseProcessEnvironment("SLURM_PROCID=1\0RANK=11\0"sv).rank, 11u);
  EXPECT_EQ(ParseProcessEnvironment("SLURM_PROCID=1\0OMPI_COMM_WORLD_RANK=5\0"sv).rank, 5u);
}

TEST(ProcessEnvironment, IgnoresInvalidValues) {
  EXPECT_TRUE(ParseProcessEnvironment(
                  "RANK=\0LOCAL_RANK=-1\0WORLD_SIZE=99999999999\0SLURM_JOB_ID=4x\0RANKS=1\0=2\0"
                  "CUDA_VISIBLE_DEVICES=0;rm\0\xff\xfe"sv)
                  .IsEmpty());
  EXPECT_TRUE(ParseProcessEnvironment("").IsEmpty());
  for (const auto list :
       {"RANK=1\0CUDA_VISIBLE_DEVICES=2, 3"sv, "RANK=1\0CUDA_VISIBLE_DEVICES="sv}) {
    EXPECT_EQ(ParseProcessEnvironment(list).visible_gpus, kNoKnownGpus)
        << "differs from a missing variable";
  }
  EXPECT_EQ(ParseProcessEnvironment("RANK=7"sv).rank, 7u) << "the last entry may lack its NUL";
}

TEST(ProcessEnvironment, IsReadFromProc) {
  test::MadeTree tree;
  tree.File("proc/4100/environ", "RANK=2\0LOCAL_RANK=0\0"s).File("proc/4100/comm", "python\n");
  EXPECT_EQ(ReadProcessEnvironment(tree.root(), 4100)->rank, 2u);
  EXPECT_EQ(ReadProcessCommand(tree.root(), 4100), "python");
  EXPECT_EQ(ReadProcessEnvironment(tree.root(), 4101), std::nullopt);
}

TEST(GpuInformation, IsReadFromProc) {
  test::MadeTree tree;
  tree.File("proc/driver/nvidia/gpus/0000:1b:00.0/information",
            "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 221\n"
            "GPU UUID: \t GPU-01234567-89ab-cdef-0123-456789abcdef\n"
            "Video BIOS: \t 96.00.74.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            "Bus Location: \t 0000:1b:00.0\nDevice Minor: \t 3\nGPU Firmware: \t 535.129.03\n");
  tree.File("proc/driver/nvidia/gpus/0000:2c:00.0/information", "\xff garbage\n:\n");
  EXPECT_THAT(ReadGpus(tree.root()),
              ElementsAre(GpuInformation{.minor = 3,
                                         .pci = "0000:1b:00.0",
                                         .uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef",
                                         .model = "NVIDIA H100 80GB HBM3"}));
}

TEST(InterfaceCounters, AreReadFromSysfs) {
  test::MadeTree tree;
  tree.File("sys/class/net/eth2/statistics/rx_bytes", "1500\n")
      .File("sys/class/net/eth2/statistics/tx_dropped", "2\n")
      .File("sys/class/net/eth2/operstate", "up\n")
      .File("sys/class/net/eth2/speed", "400000\n")
      .File("sys/class/net/eth2/carrier_down_count", "4\n");
  EXPECT_THAT(
      ReadInterfaceStatistics(tree.root(), "eth2"),
      ElementsAre(MetricValue{Metric::kRxBytes, 1500}, MetricValue{Metric::kTxDiscards, 2},
                  MetricValue{Metric::kLinkUp, 1}, MetricValue{Metric::kLinkSpeed, 400'000'000'000},
                  MetricValue{Metric::kLinkFlaps, 4}));
  EXPECT_THAT(ReadInterfaceStatistics(tree.root(), "eth3"), IsEmpty());
}

TEST(InterfaceCounters, ReadsPriorityCountersFromEthtool) {
  EXPECT_THAT(MetricsOfEthtool({{"rx_prio3_pause", 17},
                                {"tx_prio3_pause_duration", 250},  // microseconds
                                {"rx_prio8_pause", 1},
                                {"rx_priox_pause", 1},
                                {"rx_prio3_packets", 1},
                                {"rx_crc_errors_phy", 2},
                                {"", 1}}),
              ElementsAre(PriorityValue{.priority = 3, .value = {Metric::kPfcRx, 17}},
                          PriorityValue{.priority = 3, .value = {Metric::kPfcTxTime, 250'000}},
                          PriorityValue{.value = {Metric::kFcsErrors, 2}}));
  EXPECT_THAT(ReadEthtoolStatistics("no such interface here"), IsEmpty());
}

TEST(ClockEstimate, PrefersTheShortestRoundTrip) {
  const auto at = [](int64_t ns) { return FromNanoseconds(ns); };
  ClockEstimate clock;
  EXPECT_EQ(clock.Best(), std::nullopt);
  clock.Add(at(1000), at(51'500), at(2000));  // 50,000 ahead, 500 each way
  EXPECT_EQ(clock.Best(), (ClockOffset{.ahead = Duration(50'000), .error = Duration(500)}));
  clock.Add(at(3000), at(60'000), at(13'000));  // delayed on the return path
  EXPECT_EQ(clock.Best()->ahead, Duration(50'000));
  clock.Add(at(20'000), at(70'110), at(20'200));
  EXPECT_EQ(clock.Best(), (ClockOffset{.ahead = Duration(50'010), .error = Duration(100)}));
  clock.Add(at(20'000), at(0), at(10'000));  // our clock was set back
  EXPECT_EQ(clock.Best()->error, Duration(100));
}

}  // namespace
}  // namespace rocescope
