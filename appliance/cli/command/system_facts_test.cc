// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/system_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rocescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SystemFactsTest : public testing::Test {
 protected:
  ~SystemFactsTest() override { std::filesystem::remove_all(root_); }

  void Put(const std::string& path, const std::string& text) const {
    const std::filesystem::path at = root_ / path;
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  void Link(const std::string& path, const std::string& target) const {
    const std::filesystem::path at = root_ / path;
    std::filesystem::create_directories(at.parent_path());
    std::filesystem::create_symlink(target, at);
  }

  const std::filesystem::path root_ =
      std::filesystem::path(testing::TempDir()) / ("rocescope-facts-" + std::to_string(getpid()));
};

TEST_F(SystemFactsTest, AreThoseOfTheKernel) {
  Put("proc/cmdline",
      "BOOT_IMAGE=/vmlinuz root=UUID=1234 isolcpus=2-3 hugepages=512 token=secret\n");
  Put("proc/cpuinfo",
      "processor\t: 0\nmodel name\t: Fast CPU\nmicrocode\t: 0x2b\n\n"
      "processor\t: 1\nmodel name\t: Fast CPU\nmicrocode\t: 0x2b\n");
  Put("proc/meminfo", "MemTotal:       16000000 kB\nBuffers:  5 kB\nHugePages_Free:      7\n");
  Put("sys/devices/system/node/node0/cpulist", "0-1\n");
  Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "512\n");
  Put("sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages", "7\n");
  Put("sys/devices/pci0/0000:01:00.0/vendor", "0x15b3\n");
  Put("sys/devices/pci0/0000:01:00.0/device", "0x1017\n");
  Put("sys/devices/pci0/0000:01:00.0/numa_node", "0\n");
  Link("sys/devices/pci0/0000:01:00.0/driver", "../../bus/pci/drivers/mlx5_core");
  Put("sys/class/net/eth0/mtu", "9000\n");
  Put("sys/class/net/eth0/address", "02:00:00:aa:bb:cc\n");
  Put("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n");
  Put("sys/class/net/eth0/statistics/rx_missed_errors", "17\n");
  Link("sys/class/net/eth0/device", "../../../devices/pci0/0000:01:00.0");
  Put("sys/bus/pci/drivers/vfio-pci/bind", "");
  Link("sys/bus/pci/drivers/vfio-pci/0000:01:00.0", "../../../../devices/pci0/0000:01:00.0");
  const std::string facts = SystemFacts(root_.string());
  EXPECT_THAT(facts,
              AllOf(HasSubstr("Kernel parameters: isolcpus=2-3 hugepages=512\n"),
                    HasSubstr("CPU: 2 logical CPUs, Fast CPU, microcode 0x2b\n"),
                    HasSubstr("NUMA node0: CPUs 0-1\n"), HasSubstr("MemTotal:       16000000 kB\n"),
                    HasSubstr("hugepages-2048kB of node0: 512, of which 7 are free\n")));
  EXPECT_THAT(facts, AllOf(HasSubstr("eth0: driver mlx5_core, device 15b3:1017, at 0000:01:00.0, "
                                     "NUMA node 0, MTU 9000, receive queues 1\n"),
                           HasSubstr("rx_missed_errors=17"),
                           HasSubstr("vfio-pci: 0000:01:00.0, device 15b3:1017, NUMA node 0\n")));
  EXPECT_THAT(facts, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("UUID")),
                           Not(HasSubstr("aa:bb:cc")), Not(HasSubstr("Buffers"))));
}

TEST_F(SystemFactsTest, MissingFactsAreLeftOut) {
  EXPECT_THAT(SystemFacts((root_ / "nowhere").string()),
              AllOf(HasSubstr("CPU: 0 logical CPUs"), HasSubstr("DPDK drivers: none")));
}

}  // namespace
}  // namespace rocescope
