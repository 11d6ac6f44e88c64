// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/capture.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "appliance/command/exit_code.h"
#include "appliance/command/live_counts.h"
#include "appliance/command/message.h"
#include "appliance/command/shell_words.h"
#include "appliance/command/stop_signal.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/trap.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;

using Ports = std::vector<std::unique_ptr<Port>>;
using Loops = std::vector<std::unique_ptr<ReceiveLoop>>;

Result<Ports> OpenPorts(const CaptureRunOptions& options, uint16_t lcores) {
  const Result<std::vector<uint16_t>> ids = FindPorts(options.ports);
  if (!ids) return tl::unexpected(ids.error());
  Ports ports;
  for (const uint16_t id : *ids) {
    auto port = Port::Open(id, {.lcores = lcores, .mbufs = options.mbufs});
    if (!port) return tl::unexpected(port.error());
    ports.push_back(std::move(*port));
  }
  return ports;
}

// Queues go round the lcores.
Loops MakeLoops(const CaptureRunOptions& options, const Ports& ports, uint16_t lcores) {
  std::vector<ReceiveLoop::Options> loops(lcores);
  std::vector<std::string> names;
  size_t next = 0;
  for (const auto& port : ports) {
    for (uint16_t queue = 0; queue < port->queues(); ++queue) {
      loops[next++ % lcores].queues.push_back(
          {.port = port.get(), .queue = queue, .tap = static_cast<TapId>(names.size())});
    }
    names.push_back(port->name());
  }
  Loops made;
  for (ReceiveLoop::Options& loop : loops) {
    loop.processor = ProcessorOptions(options.analysis, names);
    loop.wait_for_reader =
        std::all_of(ports.begin(), ports.end(), [](const auto& port) { return port->is_file(); });
    made.push_back(std::make_unique<ReceiveLoop>(std::move(loop)));
  }
  return made;
}

LiveCounts Count(const Ports& ports, const Loops& loops) {
  LiveCounts counts;
  for (const auto& loop : loops) {
    const LcoreStatistics lcore = loop->Statistics();
    counts.frames = lcore.frames;
    counts.flows += lcore.flows_open;
    counts.records += lcore.records;
    counts.records_dropped += lcore.records_dropped;
    counts.passing_dropped += lcore.passing_dropped;
  }
  for (const auto& port : ports) {
    const PortCounters port_counts = port->Counters();
    counts.missed += port_counts.missed;
    counts.no_mbuf += port_counts.no_mbuf;
    counts.errors += port_counts.errors;
    counts.mbufs_in_use =
        std::max(counts.mbufs_in_use, static_cast<double>(port->MbufsInUse()) / port->mbufs());
  }
  return counts;
}

// The thread beside the lcores: records into the engine, a line a second, and when to stop.
class Control {
 public:
  Control(const CaptureRunOptions& options, const Ports& ports, const Loops& loops,
          Analysis& analysis)
      : options_(options), ports_(ports), loops_(loops), analysis_(analysis) {}

  std::atomic<bool>& stop() { return stop_; }
  void LcoresEnded() { ended_.store(true, std::memory_order_release); }

  void Run() {
    try {
      const Clock::time_point begin = Clock::now();
      told_at_ = begin;
      while (true) {
        // Looked at first: what the lcores handed over before they ended is then there to be taken.
        const bool ended = ended_.load(std::memory_order_acquire);
        const bool took = TakeRecords();
        const Clock::time_point now = Clock::now();
        if (InputEndedBySignal() || (options_.seconds && now - begin >= *options_.seconds)) {
          stop_.store(true, std::memory_order_relaxed);
        }
        if (now - told_at_ >= std::chrono::seconds(1)) Tell(now);
        if (took) continue;
        if (ended) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (...) {
      // Nobody takes records any more: the lcores must not wait for that.
      stop_.store(true, std::memory_order_relaxed);
      for (const auto& loop : loops_) loop->records().Abandon();
      throw;
    }
  }

 private:
  bool TakeRecords() {
    bool took = false;
    for (const auto& loop : loops_) {
      while (HandedBatch* batch = loop->records().Take()) {
        took = true;
        analysis_.Ingest(batch->records);
        if (batch->reached > Timestamp{}) analysis_.Advance(batch->reached);
        loop->records().GiveBack(batch);
      }
    }
    return took;
  }

  void Tell(Clock::time_point now) {
    const LiveCounts counts = Count(ports_, loops_);
    Message(LiveLine(told_, counts, now - told_at_));
    told_ = counts;
    told_at_ = now;
  }

  const CaptureRunOptions& options_;
  const Ports& ports_;
  const Loops& loops_;
  Analysis& analysis_;
  std::atomic<bool> stop_ = false;
  std::atomic<bool> ended_ = false;
  LiveCounts told_;
  Clock::time_point told_at_;
};

// The cores that the process may use, which EAL narrows to its main lcore's for this thread.
class Affinity {
 public:
  Affinity() { known_ = sched_getaffinity(0, sizeof cores_, &cores_) == 0; }
  void Restore() const {
    if (known_) sched_setaffinity(0, sizeof cores_, &cores_);
  }

 private:
  cpu_set_t cores_{};
  bool known_ = false;
};

// What the ports counted; notes what was wrong with them. True if all was well.
bool LookAtPorts(const Ports& ports, Analysis& analysis, std::vector<PortFindings>& findings) {
  bool well = true;
  for (const auto& port : ports) {
    const PortCounters counters = port->Counters();
    if (port->is_file() && counters.errors > 0) {
      analysis.Note(fmt::format(
          "port {}: its file is cut or damaged, or its pool too small for a frame (--mbufs): the "
          "report covers the {} frames that could be read",
          port->name(), counters.delivered));
      well = false;
    }
    findings.push_back({.name = port->name(),
                        .driver = port->driver(),
                        .received = counters.delivered,
                        .missed = counters.missed,
                        .no_mbuf = counters.no_mbuf,
                        .errors = counters.errors});
    const TrapReading reading = {.on_wire = counters.on_wire, .delivered = counters.delivered};
    if (const std::string trap = DescribeTrap(port->name(), {}, reading); !trap.empty()) {
      analysis.Note(trap);
    }
  }
  return well;
}

CaptureExtent ExtentOf(const LcoreStatistics& lcore) {
  CaptureExtent extent;
  if (lcore.received_any) extent = {.first = lcore.first_arrival, .last = lcore.last_arrival};
  return extent;
}

int Fail(const Error& error, ExitCode code) {
  Message(error.message);
  return code;
}

}  // namespace

int RunCapture(const CaptureRunOptions& options) {
  if (const Status checked = CheckAnalysis(options.analysis); !checked) {
    return Fail(checked.error(), kExitUsage);
  }
  const Result<std::vector<std::string>> words = SplitWords(options.eal);
  if (!words) return Fail({.message = "--eal: " + words.error().message}, kExitUsage);
  Result<Analysis> analysis = Analysis::Begin(options.analysis);
  if (!analysis) return Fail(analysis.error(), kExitUnreadable);

  const Affinity affinity;
  const auto eal = Eal::Start(*words, Message);
  if (!eal) return Fail(eal.error(), kExitUsage);
  const auto lcores = static_cast<uint16_t>(1);
  const Result<Ports> ports = OpenPorts(options, lcores);
  if (!ports) return Fail(ports.error(), kExitUnreadable);
  const Loops loops = MakeLoops(options, *ports, lcores);
  for (const auto& port : *ports) {
    if (const Status started = port->Start(); !started) {
      return Fail(started.error(), kExitUnreadable);
    }
  }

  Control control(options, *ports, loops, *analysis);
  std::future<void> reader = std::async(std::launch::async, [&] {
    affinity.Restore();
    control.Run();
  });
  (*eal)->RunOnLcores(lcores, [&](size_t i) { loops[i]->Run(control.stop()); });
  control.LcoresEnded();
  affinity.Restore();
  reader.get();

  std::vector<PortFindings> findings;
  const bool well = LookAtPorts(*ports, *analysis, findings);
  const bool reported = analysis->Report({.processor = loops[0]->processor(),
                                          .extent = ExtentOf(loops[0]->Statistics()),
                                          .ports = std::move(findings),
                                          .lcores = {}});
  if (!reported) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
