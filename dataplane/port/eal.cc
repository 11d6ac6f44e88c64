// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/eal.h"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <utility>

#include "dataplane/port/eal_log.h"

namespace rocescope {
namespace {

struct Advice {
  std::string_view said;  // a part of what EAL says
  std::string_view advice;
};

constexpr std::array kAdvice = {
    Advice{.said = "unknown file format",
           .advice = "net_pcap reads plain pcap and pcapng: decompress the file first"},
    Advice{.said = "not permitted",
           .advice = "Network interfaces need root, or CAP_NET_RAW (setcap cap_net_raw+ep)"},
    Advice{
        .said = "nother primary process",
        .advice =
            "Another DPDK program runs under this name: give --file-prefix=NAME, or --no-shconf"},
    Advice{.said = "ugepage",
           .advice = "Without hugepages give --no-huge -m 512, or reserve some as root: "
                     "echo 512 > /proc/sys/vm/nr_hugepages"},
    Advice{.said = "annot init memory",
           .advice = "Without hugepages give --no-huge -m 512, or reserve some as root: "
                     "echo 512 > /proc/sys/vm/nr_hugepages"},
    Advice{.said = "annot get hugepage information",
           .advice = "Without hugepages give --no-huge -m 512, or reserve some as root: "
                     "echo 512 > /proc/sys/vm/nr_hugepages"},
    Advice{.said = "no-huge", .advice = "--no-huge and --in-memory exclude each other"},
    Advice{.said = "core list",
           .advice = "-l names cores of this machine, from 0, that the process may use"},
    Advice{.said = "lcore",
           .advice = "-l names cores of this machine, from 0, that the process may use"},
    Advice{.said = "ermission denied",
           .advice = "Devices and hugepages need root or rights of their own; a vdev with "
                     "--no-huge --no-pci needs neither"},
};

// getopt's complaint about a word, which goes to standard error alone.
std::string ComplaintOfGetopt(std::string_view printed) {
  constexpr std::string_view kBegin = "rocescope: ";
  const size_t begin = printed.find(kBegin);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = printed.substr(begin + kBegin.size());
  return std::string(rest.substr(0, rest.find('\n'))) + '\n';
}

// What is said of inputs, in place of words.
constexpr std::array<std::string_view, 6> kOfInputs = {"unknown file format", "truncated dump file",
                                                       "No such file",        "ermission denied",
                                                       "not permitted",       "No such device"};

Error StartError(const std::string& said) {
  const std::string advice = EalAdvice(said);
  std::string line = OneLine(said);
  while (line.ends_with('.') || line.ends_with('!')) line.pop_back();
  const bool of_input = said.find("rx_") != std::string::npos ||
                        said.find("failed to initialize") != std::string::npos;
  const bool unavailable =
      of_input && std::any_of(kOfInputs.begin(), kOfInputs.end(), [&said](std::string_view part) {
        return said.find(part) != std::string::npos;
      });
  return {.code = unavailable ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument,
          .message = fmt::format("EAL did not start: {}{}{}",
                                 line.empty() ? rte_strerror(rte_errno) : line,
                                 advice.empty() ? "" : ". ", advice)};
}

// The first device that was named on the command line and is no port; empty if there is none. EAL
// itself goes on without it.
std::string DeviceWithoutPort() {
  std::vector<const rte_devargs*> with_port;
  for (unsigned id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS;
       id = rte_eth_find_next(static_cast<uint16_t>(id + 1))) {
    rte_eth_dev_info info{};
    if (rte_eth_dev_info_get(static_cast<uint16_t>(id), &info) != 0) continue;
    with_port.push_back(rte_dev_devargs(info.device));
  }
  for (const rte_devargs* named = rte_devargs_next(nullptr, nullptr); named != nullptr;
       named = rte_devargs_next(nullptr, named)) {
    if (named->type == RTE_DEVTYPE_BLOCKED) continue;
    if (std::find(with_port.begin(), with_port.end(), named) == with_port.end()) return named->name;
  }
  return {};
}

// EAL prints its usage and ends the process at these.
bool AsksForHelp(std::string_view word) {
  return word == "-h" || (word.size() >= 4 && std::string_view("--help").starts_with(word));
}

// A secondary process has no ports of its own, and waits for a primary's.
bool AsksForSecondary(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = std::min(word.find('='), word.size());
    if (equals < 4 || !std::string_view("--proc-type").starts_with(word.substr(0, equals)))
      continue;
    const std::string_view value = equals < word.size()   ? word.substr(equals + 1)
                                   : i + 1 < words.size() ? std::string_view(words[i + 1])
                                                          : std::string_view();
    if (value != "primary") return true;
  }
  return false;
}

// The name of a virtual device that is given twice, which EAL would start once; else empty.
std::string DeviceNamedTwice(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string_view value = words[i];
    if (value == "--vdev" && i + 1 < words.size()) {
      value = words[++i];
    } else if (value.starts_with("--vdev=")) {
      value.remove_prefix(7);
    } else {
      continue;
    }
    std::string name(value.substr(0, value.find(',')));
    if (std::find(names.begin(), names.end(), name) != names.end()) return name;
    names.push_back(std::move(name));
  }
  return {};
}

}  // namespace

std::string EalAdvice(std::string_view said) {
  for (const Advice& row : kAdvice) {
    if (said.find(row.said) != std::string_view::npos) return std::string(row.advice);
  }
  return {};
}

Result<std::unique_ptr<Eal>> Eal::Start(const std::vector<std::string>& words, Log log) {
  if (std::any_of(words.begin(), words.end(), AsksForHelp)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     "EAL's options are described in DPDK's guide, \"EAL parameters\" "
                     "(https://doc.dpdk.org/guides-22.11/linux_gsg/linux_eal_parameters.html); "
                     "a start without a NIC: --no-huge -m 512 --no-pci -l 0 "
                     "--vdev net_pcap0,rx_pcap=FILE");
  }
  if (AsksForSecondary(words)) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        "EAL's --proc-type: rocescope is a primary process, which owns its ports; leave "
        "the option out, and give --file-prefix=NAME beside other DPDK programs");
  }
  if (const std::string twice = DeviceNamedTwice(words); !twice.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("--vdev: {} is given twice; number them: {}0, {}1", twice,
                                 twice.substr(0, twice.find_last_not_of("0123456789") + 1),
                                 twice.substr(0, twice.find_last_not_of("0123456789") + 1)));
  }
  static std::atomic<bool> started = false;
  if (started.exchange(true)) {
    return MakeError(ErrorCode::kInternal, "EAL starts once a process, and it was started before");
  }
  EalLog& eal_log = EalLog::Install();
  // EAL moves its arguments about and keeps pointers to them.
  static std::vector<std::string> own_words = {"rocescope"};
  static std::vector<char*> arguments;
  own_words.insert(own_words.end(), words.begin(), words.end());
  arguments.reserve(own_words.size() + 1);
  for (std::string& word : own_words) arguments.push_back(word.data());
  const auto count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);

  CapturedStreams held;
  const int taken = rte_eal_init(count, arguments.data());
  held.Release();
  const std::string said = eal_log.TakeProblems();
  if (taken < 0) {
    return tl::unexpected(StartError(ComplaintOfGetopt(held.text()) + said));
  }
  std::unique_ptr<Eal> eal(new Eal);
  // EAL goes on without a device that it could not start: then the user's port is missing.
  const bool device_failed = said.find("failed to initialize") != std::string::npos;
  if (device_failed) return tl::unexpected(StartError(said));
  if (taken + 1 < count) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("EAL does not take the word \"{}\"", words[taken]));
  }
  if (const std::string device = DeviceWithoutPort(); !device.empty()) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("EAL has no port for the device {}: is it there, bound to a driver "
                    "for DPDK (dpdk-devbind.py --status), and a network device?{}{}",
                    device, said.empty() ? "" : " EAL said: ", OneLine(said)));
  }
  if (log && !said.empty()) log(OneLine(said));
  eal_log.SendTo(std::move(log));
  return eal;
}

Eal::~Eal() {
  EalLog::Install().SendTo({});
  rte_eal_cleanup();
}

size_t Eal::lcore_count() const { return rte_lcore_count(); }

std::vector<int> Eal::Cores() const {
  std::vector<int> cores;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH(lcore) {
    const rte_cpuset_t set = rte_lcore_cpuset(lcore);
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  return cores;
}

void Eal::RunOnLcores(size_t count, const std::function<void(size_t)>& loop) {
  struct Work {
    const std::function<void(size_t)>* loop = nullptr;
    size_t index = 0;
    std::exception_ptr thrown = nullptr;
    std::atomic<bool> ended = false;  // EAL's own way to say so is hidden from ThreadSanitizer
  };
  std::vector<Work> work(count);
  for (size_t i = 0; i < count; ++i) {
    work[i].loop = &loop;
    work[i].index = i;
  }
  const auto run = [](void* argument) {
    auto* mine = static_cast<Work*>(argument);
    try {
      (*mine->loop)(mine->index);
    } catch (...) {  // EAL's threads end the process at what leaves them
      mine->thrown = std::current_exception();
    }
    mine->ended.store(true, std::memory_order_release);
    return 0;
  };
  size_t next = 1;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    if (next >= count) break;
    rte_eal_remote_launch(run, &work[next++], lcore);
  }
  run(work.data());
  rte_eal_mp_wait_lcore();
  std::exception_ptr first;
  for (const Work& done : work) {
    if (done.ended.load(std::memory_order_acquire) && !first) first = done.thrown;
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace rocescope
