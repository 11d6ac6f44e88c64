// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/eal.h"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_version.h>

#include <algorithm>
#include <array>
#include <atomic>
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

Error StartError(const std::string& said) {
  const std::string advice = EalAdvice(said);
  const std::string line = OneLine(said);
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("EAL did not start: {}{}{}",
                                 line.empty() ? rte_strerror(rte_errno) : line,
                                 advice.empty() ? "" : ". ", advice)};
}

// EAL prints its usage and ends the process at these.
bool AsksForHelp(std::string_view word) {
  return word == "-h" || (word.size() >= 4 && std::string_view("--help").starts_with(word));
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

  HeldStreams held;
  const int taken = rte_eal_init(count, arguments.data());
  held.Release();
  const std::string said = eal_log.TakeComplaints();
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
  eal_log.SendTo(std::move(log));
  return eal;
}

Eal::~Eal() {
  EalLog::Install().SendTo({});
  rte_eal_cleanup();
}

size_t Eal::lcore_count() const { return rte_lcore_count(); }

bool Eal::has_hugepages() const { return rte_eal_has_hugepages() != 0; }

void Eal::RunOnLcores(size_t count, const std::function<void(size_t)>& loop) {
  struct Work {
    const std::function<void(size_t)>* loop = nullptr;
    size_t index = 0;
  };
  std::vector<Work> work;
  work.reserve(count);
  for (size_t i = 0; i < count; ++i) work.push_back({.loop = &loop, .index = i});
  const auto run = [](void* argument) {
    const auto* mine = static_cast<const Work*>(argument);
    (*mine->loop)(mine->index);
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
}

}  // namespace rocescope
