// SPDX-License-Identifier: BSD-3-Clause
// Measures lcores with frames of DPDK ports in CPU time: from an endlessly repeated capture,
// without processing and with records; from two such ports with one lcore, and with two that share
// the work; and a paced run that must lose nothing. Prints one JSON object for line_rate.py.
#include <fmt/format.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/spreader.h"
#include "dataplane/port/vdev.h"
#include "tests/perf/frame.h"
#include "tests/perf/workload.h"
#include "tests/support/pcap_writer.h"

namespace rocescope::perf {
namespace {

constexpr uint16_t kBurst = 64;

struct Options {
  std::string mode = "pcap";
  std::string capture;
  WorkloadOptions workload;
  bool erspan = false;
  uint32_t rounds = 5;
  double seconds = 2;         // duration of a pcap round or of the paced run
  uint64_t rate = 2'000'000;  // frames/s of the paced run
  double share = 0;           // share of the limit (measured first) to use instead of the rate
  uint32_t mbufs = 65'535;
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <typename T>
T Must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

void MustStart(Port& port) {
  if (const Status started = port.Start(); !started) {
    throw std::runtime_error(started.error().message);
  }
}

// Time that the hypervisor stole from this machine's processors since boot. It distinguishes lost
// frames from stolen CPU time. 0 if the system does not report it.
double StolenSeconds() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  uint64_t user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, stolen = 0;
  stat >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft >> stolen;
  return stat ? static_cast<double>(stolen) / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
}

// Discards records during its lifetime.
class Reader {
 public:
  explicit Reader(std::vector<ReceiveLoop*> loops)
      : thread_([this, loops = std::move(loops)] {
          while (!stop_.load(std::memory_order_relaxed)) {
            for (ReceiveLoop* loop : loops) {
              while (ExchangedBatch* batch = loop->records().Take())
                loop->records().GiveBack(batch);
            }
            std::this_thread::sleep_for(std::chrono::microseconds(500));
          }
        }) {}
  ~Reader() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

FrameProcessor::Options Processor(std::shared_ptr<TapRegistry> taps) { return {.taps = taps}; }

std::shared_ptr<TapRegistry> OneTap() {
  return std::make_shared<TapRegistry>(std::vector<std::string>{"port"});
}

// --- net_pcap with infinite_rx -----------------------------------------------------------------

double ReceiveOnly(Port& port, double seconds) {
  MustStart(port);
  std::array<rte_mbuf*, kBurst> mbufs;
  uint64_t frames = 0;
  const double begin = CpuSeconds();
  double now = begin;
  while (now - begin < seconds) {
    for (int i = 0; i < 1000; ++i) {
      const uint16_t count = rte_eth_rx_burst(port.id(), 0, mbufs.data(), kBurst);
      rte_pktmbuf_free_bulk(mbufs.data(), count);
      frames += count;
    }
    now = CpuSeconds();
  }
  port.Stop();
  return static_cast<double>(frames) / (now - begin);
}

double ToRecords(Port& port, double seconds) {
  MustStart(port);
  ReceiveLoop loop({.queues = {{.port = &port}}, .processor = Processor(OneTap())});
  std::atomic<bool> stop = false;
  const Reader reader({&loop});
  std::thread timer([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
  });
  const double begin = CpuSeconds();
  loop.Run(stop);
  const double used = CpuSeconds() - begin;
  timer.join();
  port.Stop();
  return static_cast<double>(loop.Statistics().frames.ledger.received) / used;
}

void RunPcap(const Options& options) {
  const auto device = Must(
      VirtualDevice::Plug("net_pcap0", fmt::format("rx_pcap={},infinite_rx=1", options.capture)));
  const auto port = Must(Port::Open(device->port(), {.mbufs = options.mbufs}));
  std::vector<double> receive;
  std::vector<double> records;
  for (uint32_t round = 0; round <= options.rounds; ++round) {
    const double one = ReceiveOnly(*port, options.seconds);
    const double two = ToRecords(*port, options.seconds);
    if (round == 0) continue;  // the first round is a warm-up
    receive.push_back(one);
    records.push_back(two);
  }
  fmt::print("{{\"receive_rate\": {:.0f}, \"record_rate\": {:.0f}}}\n", Median(receive),
             Median(records));
}

// Two endless ports, with one lcore or with two that share the work. No frame is dropped: an lcore
// that waits for the other's ring drains its own meanwhile.
struct Shared {
  double rate;
  double largest_share;  // largest share of the frames on one lcore
};
Shared Share(Eal& eal, const Port& first, const Port& second, uint32_t lcores, double seconds) {
  const auto taps = OneTap();
  const auto rings = lcores > 1 ? Must(SpreadRings::Make(lcores)) : nullptr;
  std::vector<std::unique_ptr<ReceiveLoop>> loops;
  std::vector<ReceiveLoop*> pointers;
  const std::vector<ReceiveQueue> queues = {{.port = &first}, {.port = &second}};
  for (uint32_t i = 0; i < lcores; ++i) {
    loops.push_back(std::make_unique<ReceiveLoop>(
        ReceiveLoop::Options{.queues = lcores == 1 ? queues : std::vector{queues[i]},
                             .processor = Processor(taps),
                             .spread = rings,
                             .lcore = i,
                             .wait = true}));
    pointers.push_back(loops.back().get());
  }
  const Reader reader(pointers);
  std::atomic<bool> stop = false;
  std::thread timer([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
  });
  std::vector<double> used(lcores);
  eal.RunOnLcores(lcores, [&](size_t i) {
    const double begin = CpuSeconds();
    loops[i]->Run(stop);
    used[i] = CpuSeconds() - begin;
  });
  timer.join();
  uint64_t frames = 0;
  uint64_t largest = 0;
  double most = 0;
  for (uint32_t i = 0; i < lcores; ++i) {
    frames += loops[i]->Statistics().frames.ledger.received;
    most = std::max(most, used[i]);
    largest = std::max(largest, loops[i]->Statistics().frames.ledger.received);
  }
  return {.rate = static_cast<double>(frames) / most,
          .largest_share = static_cast<double>(largest) / static_cast<double>(frames)};
}

// Deals the workload's packets alternately to two files, as packet spraying or a mirror's outer
// addresses would.
std::array<std::vector<uint8_t>, 2> TwoCaptures(const Options& options) {
  Workload workload(options.workload);
  FrameBuilder builder(options.erspan ? 190 : 128, options.erspan);
  const test::CaptureFormat format;
  std::array<std::vector<uint8_t>, 2> files;
  for (auto& file : files) test::AppendPcapHeader(file, format);
  for (uint64_t i = 0; i < options.workload.packets; ++i) {
    const Packet packet = workload.Next();
    const Frame frame = builder.Build(packet);
    test::AppendPcapRecord(files[i % 2], format, options.workload.start_ns, frame.bytes,
                           frame.length);
  }
  return files;
}

void RunShared(Eal& eal, const Options& options) {
  std::vector<std::unique_ptr<VirtualDevice>> devices;
  std::vector<std::unique_ptr<Port>> ports;
  const auto files = TwoCaptures(options);
  for (size_t i = 0; i < 2; ++i) {
    // The device reads the complete file when it is plugged in and started.
    const std::string path = fmt::format(
        "{}/rocescope_{}_{}.pcap", std::filesystem::temp_directory_path().string(), getpid(), i);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(files[i].data()),
               static_cast<std::streamsize>(files[i].size()));
    devices.push_back(Must(VirtualDevice::Plug(fmt::format("net_pcap{}", i),
                                               fmt::format("rx_pcap={},infinite_rx=1", path))));
    ports.push_back(
        Must(Port::Open(devices.back()->port(), {.lcores = 2, .mbufs = options.mbufs})));
    MustStart(*ports.back());
    std::filesystem::remove(path);
  }
  std::vector<double> one;
  std::vector<double> two;
  double largest_share = 0;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    one.push_back(Share(eal, *ports[0], *ports[1], 1, options.seconds).rate);
    const Shared both = Share(eal, *ports[0], *ports[1], 2, options.seconds);
    two.push_back(both.rate);
    largest_share = both.largest_share;
  }
  fmt::print(
      "{{\"one_lcore_rate\": {:.0f}, \"two_lcore_rate\": {:.0f}, \"largest_share\": {:.3f}}}\n",
      Median(one), Median(two), largest_share);
}

// --- paced ---------------------------------------------------------------------------------------

// A ring that a generator fills at a steady rate, as a port.
struct PacedWire {
  static constexpr unsigned kRingSize = 16'384;  // mbufs: 8 ms at 2 M frames/s

  rte_ring* ring =
      rte_ring_create("paced", kRingSize, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  std::unique_ptr<Port> port;
  uint64_t sent = 0;
  uint64_t missed = 0;  // dropped because the ring was full

  explicit PacedWire(uint32_t mbufs) {
    const int id = ring == nullptr ? -1 : rte_eth_from_ring(ring);
    if (id < 0) throw std::runtime_error("no port on a ring");
    port = Must(Port::Open(static_cast<uint16_t>(id), {.mbufs = mbufs, .data_room = 320}));
    MustStart(*port);
  }

  // Sends `frames` repeatedly until `stop`, which it sets itself after `seconds`.
  void Generate(const std::vector<std::vector<uint8_t>>& frames, double rate, double seconds,
                uint64_t sent_before, std::atomic<bool>& stop) {
    const uint64_t hz = rte_get_tsc_hz();
    const uint64_t begin = rte_rdtsc();
    std::array<rte_mbuf*, kBurst> burst;
    for (size_t next = 0; !stop.load(std::memory_order_relaxed);) {
      const double elapsed = static_cast<double>(rte_rdtsc() - begin) / static_cast<double>(hz);
      if (elapsed >= seconds) stop = true;
      if (static_cast<double>(sent - sent_before) > elapsed * rate) continue;
      sent += kBurst;
      if (rte_pktmbuf_alloc_bulk(port->pool(), burst.data(), kBurst) != 0) {
        missed += kBurst;
        continue;
      }
      for (rte_mbuf* mbuf : burst) {
        const std::vector<uint8_t>& frame = frames[next];
        next = next + 1 < frames.size() ? next + 1 : 0;
        std::copy(frame.begin(), frame.end(),
                  rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size())));
      }
      const unsigned put =
          rte_ring_sp_enqueue_burst(ring, reinterpret_cast<void**>(burst.data()), kBurst, nullptr);
      rte_pktmbuf_free_bulk(burst.data() + put, kBurst - put);
      missed += kBurst - put;
    }
  }
};

struct Paced {
  uint64_t sent = 0;
  uint64_t received = 0;
  uint64_t missed = 0;
  uint64_t records_dropped = 0;
  bool balances = true;
  double stolen = 0;  // seconds
};

// Sends `rate` frames/s to one lcore for `seconds`, while another thread reads its statistics each
// second.
Paced Pace(Eal& eal, PacedWire& wire, const std::vector<std::vector<uint8_t>>& frames, double rate,
           double seconds) {
  const uint64_t sent_before = wire.sent;
  const uint64_t missed_before = wire.missed;
  const double stolen_before = StolenSeconds();
  ReceiveLoop loop({.queues = {{.port = wire.port.get()}}, .processor = Processor(OneTap())});
  std::atomic<bool> stop = false;
  std::atomic<bool> sent_all = false;
  std::atomic<bool> balanced = true;
  const Reader reader({&loop});
  std::thread watcher([&] {
    while (!stop) {
      if (!loop.Statistics().frames.ledger.Balances()) balanced = false;
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  });
  eal.RunOnLcores(2, [&](size_t i) {
    if (i == 0) {
      loop.Run(sent_all);
    } else {
      wire.Generate(frames, rate, seconds, sent_before, stop);
      sent_all = true;
    }
  });
  watcher.join();
  const SourceStatistics statistics = loop.Statistics();
  return {.sent = wire.sent - sent_before,
          .received = statistics.frames.ledger.received,
          .missed = wire.missed - missed_before,
          .records_dropped = statistics.records_dropped,
          .balances = balanced && statistics.frames.ledger.Balances(),
          .stolen = StolenSeconds() - stolen_before};
}

void RunPaced(Eal& eal, const Options& options) {
  PacedWire wire(options.mbufs);
  Workload workload(options.workload);
  FrameBuilder builder(options.erspan ? 190 : 128, options.erspan);
  std::vector<std::vector<uint8_t>> frames(options.workload.packets);
  for (std::vector<uint8_t>& frame : frames) {
    const Frame built = builder.Build(workload.Next());
    frame.assign(built.bytes.begin(), built.bytes.end());
  }
  double rate = static_cast<double>(options.rate);
  double limit = 0;
  if (options.share > 0) {  // share of the maximum throughput
    constexpr double kSeconds = 3;
    constexpr double kNeverIdle = 1e12;
    limit = static_cast<double>(Pace(eal, wire, frames, kNeverIdle, kSeconds).received) / kSeconds;
    rate = limit * options.share;
  }
  const Paced paced = Pace(eal, wire, frames, rate, options.seconds);
  fmt::print(
      "{{\"rate\": {:.0f}, \"limit\": {:.0f}, \"sent\": {}, \"received\": {}, \"missed\": {}, "
      "\"records_dropped\": {}, \"balances\": {}, \"stolen_s\": {:.2f}}}\n",
      rate, limit, paced.sent, paced.received, paced.missed, paced.records_dropped, paced.balances,
      paced.stolen);
}

void Run(const Options& options) {
  const auto eal = Must(Eal::Start({"--no-huge", "--no-shconf", "-m", "4096", "--no-pci",
                                    "--no-telemetry", "-l", options.mode == "pcap" ? "0" : "0,1"}));
  if (options.mode == "pcap") RunPcap(options);
  if (options.mode == "shared") RunShared(*eal, options);
  if (options.mode == "paced") RunPaced(*eal, options);
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Options options;
  options.workload.packets = 500'000;
  CLI::App app("Measures lcores with frames of DPDK ports, in frames per CPU second");
  app.add_option("MODE", options.mode, "pcap, shared or paced")
      ->required()
      ->check(CLI::IsMember({"pcap", "shared", "paced"}));
  app.add_option("--capture", options.capture, "for pcap: uncompressed file, repeated endlessly")
      ->check(CLI::ExistingFile);
  app.add_option("--seed", options.workload.seed, "seed of the workload");
  app.add_option("--qps", options.workload.queue_pairs, "queue pairs");
  app.add_option("--frames", options.workload.packets, "frames per round on the rings, or paced");
  app.add_flag("--erspan", options.erspan, "encapsulate the frames in ERSPAN III");
  app.add_option("--rounds", options.rounds, "number of rounds; the median counts");
  app.add_option("--seconds", options.seconds, "duration of a round of pcap, or of paced");
  app.add_option("--rate", options.rate, "frames/s, paced");
  app.add_option("--share", options.share,
                 "send this share of the measured limit instead of --rate")
      ->check(CLI::Range(0.0, 1.0));
  app.add_option("--mbufs", options.mbufs,
                 "mbufs in the pool; must exceed the packets of the capture");
  CLI11_PARSE(app, argc, argv);
  try {
    rocescope::perf::Run(options);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "line_rate_port: {}\n", error.what());
    return 1;
  }
}
