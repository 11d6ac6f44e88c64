// SPDX-License-Identifier: BSD-3-Clause
// Plays the mirror traffic of a large fabric to the appliance over memif at a steady rate, without
// flow control. Prints one JSON object for appliance.py.
#include <fmt/format.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "tests/perf/mirror_traffic.h"

namespace rocescope::perf {
namespace {

constexpr uint16_t kBurst = 64;
// The buffer of a switch: frames that are later than this are not sent, because a link would not
// carry such a burst.
constexpr auto kLatest = std::chrono::milliseconds(2);

struct Options {
  std::string socket;
  uint32_t queue_pairs = 100'000;
  double rate = 2'000'000;  // frames/s; 0: as fast as possible
  double seconds = 10;
  double churn = 0;  // connections per second
};

std::atomic<bool> stopped = false;

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

int64_t Now(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Ticks of 10 ms that the hypervisor stole from all cores (proc(5)). 0: not reported.
uint64_t Stolen() {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  uint64_t value = 0;
  for (int field = 0; field < 8; ++field) stat >> value;  // user, nice, ... softirq, steal
  return stat ? value : 0;
}

struct Counts {
  uint64_t sent = 0;           // sent
  uint64_t missed = 0;         // dropped because the appliance's ring was full
  uint64_t missed_stolen = 0;  // of these, in seconds with stolen CPU time
  uint64_t late = 0;           // not sent, because this program did not get its core in time
};

// As in <linux/sched/types.h>, which conflicts with glibc's <sched.h>.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0;
  uint64_t deadline = 0;
  uint64_t period = 0;
};

// Requests short time slices, so that the thread runs as soon as it wakes (Linux 6.12 or later;
// sched(7)). Older kernels ignore this.
void AskForShortTurns() {
  SchedulingAttributes wanted;
  if (syscall(SYS_sched_getattr, 0, &wanted, sizeof wanted, 0) != 0) return;
  wanted.runtime = 100'000;  // ns
  syscall(SYS_sched_setattr, 0, &wanted, 0);
}

class Player {
 public:
  Player(const Options& options, const Port& port, MirrorTraffic& traffic)
      : options_(options), port_(port), traffic_(traffic) {}

  Counts Play() {
    const int64_t begin = Now(CLOCK_MONOTONIC);
    const auto end = begin + static_cast<int64_t>(options_.seconds * 1e9);
    int64_t told = begin;
    uint64_t missed = 0;
    uint64_t stolen = Stolen();
    const auto most_behind =
        static_cast<uint64_t>(options_.rate * 1e-9 * std::chrono::nanoseconds(kLatest).count());
    while (!stopped.load(std::memory_order_relaxed)) {
      const int64_t now = Now(CLOCK_MONOTONIC);
      if (now >= end) break;
      if (now - told >= 1'000'000'000) {  // reports when frames were lost
        const uint64_t stolen_now = Stolen();
        if (counts_.missed > missed) {
          fmt::print(stderr, "second {:.0f}: {} missed, {} ms of CPU time stolen\n",
                     1e-9 * static_cast<double>(now - begin), counts_.missed - missed,
                     10 * (stolen_now - stolen));
          if (stolen_now > stolen) counts_.missed_stolen += counts_.missed - missed;
        }
        told = now;
        missed = counts_.missed;
        stolen = stolen_now;
      }
      const uint64_t done = counts_.sent + counts_.missed + counts_.late;
      const auto due =
          static_cast<uint64_t>(options_.rate * 1e-9 * static_cast<double>(now - begin));
      if (options_.rate > 0 && due < done + kBurst) {
        std::this_thread::sleep_for(std::chrono::microseconds(30));
        continue;
      }
      if (options_.rate > 0 && due > done + most_behind) counts_.late += due - done - most_behind;
      Send();
    }
    return counts_;
  }

 private:
  void Send() {
    std::array<rte_mbuf*, kBurst> burst;
    if (rte_pktmbuf_alloc_bulk(port_.pool(), burst.data(), kBurst) != 0) {
      throw std::runtime_error("no mbufs");
    }
    const int64_t clock = Now(CLOCK_REALTIME);
    for (rte_mbuf* mbuf : burst) {
      const size_t length = traffic_.Next(clock, rte_pktmbuf_mtod(mbuf, uint8_t*));
      mbuf->data_len = static_cast<uint16_t>(length);
      mbuf->pkt_len = static_cast<uint32_t>(length);
    }
    const uint16_t put = rte_eth_tx_burst(port_.id(), 0, burst.data(), kBurst);
    rte_pktmbuf_free_bulk(burst.data() + put, kBurst - put);
    counts_.sent += put;
    counts_.missed += kBurst - put;
  }

  const Options& options_;
  const Port& port_;
  MirrorTraffic& traffic_;
  Counts counts_;
};

void AwaitLink(const Port& port) {
  for (int i = 0; i < 3000 && !stopped; ++i) {
    rte_eth_link link{};
    if (rte_eth_link_get_nowait(port.id(), &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error("no appliance connected to the memif within 30 s");
}

void Run(const Options& options) {
  const EngineLoad load(options.queue_pairs);
  MirrorTraffic traffic(load, options.churn);
  cpu_set_t given;
  pthread_getaffinity_np(pthread_self(), sizeof given, &given);
  const auto eal = Must(Eal::Start(
      {"--no-huge", "--no-shconf", "-m", "128", "--no-pci", "--no-telemetry", "-l", "0",
       fmt::format("--vdev=net_memif0,role=client,socket={},socket-abstract=no,bsize=256,rsize=14",
                   options.socket)}));
  // The EAL has pinned this thread to a core.
  pthread_setaffinity_np(pthread_self(), sizeof given, &given);
  const auto port = Must(Port::Open(0, {.mbufs = 32'767, .data_room = 256}));
  if (const Status started = port->Start(); !started) {
    throw std::runtime_error(started.error().message);
  }
  AwaitLink(*port);
  AskForShortTurns();
  fmt::print(stderr, "playing\n");
  const int64_t begin = Now(CLOCK_MONOTONIC);
  const Counts counts = Player(options, *port, traffic).Play();
  const double seconds = 1e-9 * static_cast<double>(Now(CLOCK_MONOTONIC) - begin);
  fmt::print(
      "{{\"sent\": {}, \"missed\": {}, \"missed_in_stolen_seconds\": {}, \"late\": {}, "
      "\"seconds\": "
      "{:.3f}, \"cpu_s\": {:.2f}}}\n",
      counts.sent, counts.missed, counts.missed_stolen, counts.late, seconds,
      1e-9 * static_cast<double>(Now(CLOCK_PROCESS_CPUTIME_ID)));
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Options options;
  CLI::App app("Plays the mirror traffic of a large fabric over memif");
  app.add_option("SOCKET", options.socket, "socket of the appliance's net_memif (server)")
      ->required();
  app.add_option("--queue-pairs", options.queue_pairs, "number of queue pairs, two per connection");
  app.add_option("--rate", options.rate, "frames/s; 0: as fast as possible");
  app.add_option("--seconds", options.seconds, "how long");
  app.add_option("--churn", options.churn, "connections that are replaced per second");
  CLI11_PARSE(app, argc, argv);
  signal(SIGTERM, [](int) { rocescope::perf::stopped = true; });
  prctl(PR_SET_TIMERSLACK, 1000UL);
  try {
    rocescope::perf::Run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "mirror_player: {}\n", error.what());
    return 1;
  }
}
