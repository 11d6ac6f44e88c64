// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/system_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "appliance/agent/small_file.h"
#include "appliance/common/report/visible_text.h"

namespace rocescope {
namespace {

constexpr size_t kLongestProcFile = size_t{1} << 20;

// Parameters that change hugepages, isolation of cores, the IOMMU or timing.
constexpr std::array<std::string_view, 16> kKernelParameters = {
    "hugepages", "hugepagesz",  "default_hugepagesz", "transparent_hugepage",
    "isolcpus",  "nohz",        "nohz_full",          "rcu_nocbs",
    "iommu",     "intel_iommu", "amd_iommu",          "intel_pstate",
    "idle",      "mitigations", "numa_balancing",     "processor.max_cstate"};

constexpr std::array<std::string_view, 9> kMemoryLines = {
    "MemTotal:",     "MemFree:",         "MemAvailable:",   "SwapTotal:",   "SwapFree:",
    "Committed_AS:", "HugePages_Total:", "HugePages_Free:", "Hugepagesize:"};

constexpr std::array<std::string_view, 8> kInterfaceCounters = {
    "rx_packets",       "rx_bytes",       "rx_dropped",     "rx_errors",
    "rx_missed_errors", "rx_over_errors", "rx_fifo_errors", "rx_nohandler"};

constexpr std::array<std::string_view, 3> kDpdkDrivers = {"vfio-pci", "uio_pci_generic", "igb_uio"};

std::string Value(const std::string& path) { return Visible(ReadSmallFile(path).value_or("")); }

std::string KernelFacts(const std::string& root) {
  std::string text;
  utsname name{};
  if (root.empty() && uname(&name) == 0) {
    text += fmt::format("Kernel: {} {} {} {}\n", name.sysname, name.release, name.version,
                        name.machine);
  }
  std::istringstream words(ReadSmallFile(root + "/proc/cmdline").value_or(""));
  std::vector<std::string> known;
  for (std::string word; words >> word;) {
    const std::string_view key = std::string_view(word).substr(0, word.find('='));
    if (std::ranges::find(kKernelParameters, key) != kKernelParameters.end()) {
      known.push_back(Visible(word));
    }
  }
  return text + fmt::format("Kernel parameters: {}\n", fmt::join(known, " "));
}

// The value behind "name   : ".
std::string_view ValueOfLine(std::string_view line) {
  const size_t colon = line.find(": ");
  return colon == std::string_view::npos ? "" : line.substr(colon + 2);
}

std::string CpuFacts(const std::string& root) {
  std::istringstream lines(ReadSmallFile(root + "/proc/cpuinfo", kLongestProcFile).value_or(""));
  size_t cpus = 0;
  std::string model;
  std::string microcode;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("processor")) ++cpus;
    if (line.starts_with("model name")) model = ValueOfLine(line);
    if (line.starts_with("microcode")) microcode = ValueOfLine(line);
  }
  std::string text = fmt::format("CPU: {} logical CPUs, {}{}{}\n", cpus, Visible(model),
                                 microcode.empty() ? "" : ", microcode ", Visible(microcode));
  for (const std::string& node : NamesIn(root + "/sys/devices/system/node")) {
    if (!node.starts_with("node")) continue;
    text += fmt::format("NUMA {}: CPUs {}\n", Visible(node),
                        Value(root + "/sys/devices/system/node/" + node + "/cpulist"));
  }
  return text;
}

std::string MemoryFacts(const std::string& root) {
  std::string text;
  std::istringstream lines(ReadSmallFile(root + "/proc/meminfo", kLongestProcFile).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (std::ranges::any_of(kMemoryLines, [&](auto start) { return line.starts_with(start); })) {
      text += Visible(line) + '\n';
    }
  }
  const std::string nodes = root + "/sys/devices/system/node/";
  for (const std::string& node : NamesIn(nodes)) {
    for (const std::string& size : NamesIn(nodes + node + "/hugepages")) {
      const std::string at = nodes + node + "/hugepages/" + size;
      text += fmt::format("{} of {}: {}, of which {} are free\n", Visible(size), Visible(node),
                          Value(at + "/nr_hugepages"), Value(at + "/free_hugepages"));
    }
  }
  return text;
}

// "15b3:1017" of a PCI device.
std::string PciIds(const std::string& device) {
  std::string vendor = Value(device + "/vendor");
  std::string model = Value(device + "/device");
  for (std::string* id : {&vendor, &model}) {
    if (id->starts_with("0x")) id->erase(0, 2);
  }
  return vendor.empty() ? "" : fmt::format("{}:{}", vendor, model);
}

std::string InterfaceFacts(const std::string& root) {
  std::string text = "Network interfaces:\n";
  for (const std::string& name : NamesIn(root + "/sys/class/net")) {
    const std::string at = root + "/sys/class/net/" + name;
    text += fmt::format("  {}:", Visible(name));
    const auto add = [&](std::string_view what, const std::string& value) {
      if (!value.empty()) text += fmt::format(" {} {},", what, value);
    };
    add("driver", Visible(LinkName(at + "/device/driver")));
    add("device", PciIds(at + "/device"));
    add("at", Visible(LinkName(at + "/device")));
    add("NUMA node", Value(at + "/device/numa_node"));
    add("state", Value(at + "/operstate"));
    add("speed in Mb/s", Value(at + "/speed"));
    add("MTU", Value(at + "/mtu"));
    size_t queues = 0;
    for (const std::string& queue : NamesIn(at + "/queues")) queues += queue.starts_with("rx-");
    add("receive queues", fmt::format("{}", queues));
    text.back() = '\n';
    std::string counters;
    for (const std::string_view counter : kInterfaceCounters) {
      const std::string value = Value(fmt::format("{}/statistics/{}", at, counter));
      if (!value.empty()) counters += fmt::format(" {}={}", counter, value);
    }
    if (!counters.empty()) text += fmt::format("   {}\n", counters);
  }
  return text;
}

std::string DpdkFacts(const std::string& root) {
  std::string text;
  for (const std::string_view driver : kDpdkDrivers) {
    const std::string at = fmt::format("{}/sys/bus/pci/drivers/{}", root, driver);
    for (const std::string& device : NamesIn(at)) {
      // The other files of a driver have no colon: bind, new_id.
      if (device.find(':') == std::string::npos) continue;
      text += fmt::format("  {}: {}, device {}, NUMA node {}\n", driver, Visible(device),
                          PciIds(at + "/" + device), Value(at + "/" + device + "/numa_node"));
    }
  }
  return text.empty() ? "Devices of DPDK drivers: none\n" : "Devices of DPDK drivers:\n" + text;
}

}  // namespace

std::string SystemFacts(const std::string& root) {
  return KernelFacts(root) + CpuFacts(root) + MemoryFacts(root) + InterfaceFacts(root) +
         DpdkFacts(root);
}

}  // namespace rocescope
