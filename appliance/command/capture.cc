// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/capture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <future>
#include <memory>
#include <utility>

#include "appliance/command/exit_code.h"
#include "appliance/command/live_run.h"
#include "appliance/command/message.h"
#include "appliance/command/shell_words.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/flow_rules.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/spreader.h"
#include "dataplane/port/trap.h"

namespace rocescope {
namespace {

Result<Ports> OpenPorts(const CaptureRunOptions& options, uint16_t lcores) {
  const Result<std::vector<uint16_t>> ids = FindPorts(options.ports);
  if (!ids) return tl::unexpected(ids.error());
  Ports ports;
  for (const uint16_t id : *ids) {
    auto port = Port::Open(id, {.lcores = lcores, .mbufs = options.mbufs});
    if (!port) return tl::unexpected(port.error());
    if (options.spread == SpreadBy::kRss && lcores > 1 && !(*port)->spreads()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("--spread rss: port {} ({}) has no hash of addresses or only "
                                   "one queue: leave it out, for software to spread",
                                   (*port)->name(), (*port)->driver()));
    }
    ports.push_back(std::move(*port));
  }
  return ports;
}

// Queues go round the lcores.
Result<Loops> MakeLoops(const CaptureRunOptions& options, const Ports& ports, uint16_t lcores) {
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
  std::shared_ptr<SpreadRings> rings;
  if (lcores > 1 && (options.spread == SpreadBy::kAuto || options.spread == SpreadBy::kSoftware)) {
    auto result = SpreadRings::Make(lcores);
    if (!result) return tl::unexpected(result.error());
    rings = std::move(*result);
  }
  const auto all = [&ports](auto holds) { return std::all_of(ports.begin(), ports.end(), holds); };
  const auto taps = std::make_shared<TapRegistry>(names);
  const auto rate = std::make_shared<SightingRate>(SightingRate::Options{});
  Loops made;
  for (uint32_t lcore = 0; lcore < lcores; ++lcore) {
    ReceiveLoop::Options& loop = loops[lcore];
    loop.processor = ProcessorOptions(options.analysis, {});
    loop.processor.taps = taps;
    if (lcores > 1) loop.processor.flow_table.sightings.rate = rate;
    loop.spread = rings;
    loop.lcore = lcore;
    loop.wait = all([](const auto& port) { return port->is_file(); });
    loop.our_clock =
        all([](const auto& port) { return port->time() != PortTime::kEpochMicroseconds; });
    made.push_back(std::make_unique<ReceiveLoop>(std::move(loop)));
  }
  return made;
}

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

Analysis::Seen Sum(const Loops& loops) {
  Analysis::Seen seen;
  for (const auto& loop : loops) {
    seen.dataplane.Add(loop->processor(), loop->MirrorStreams());
    const LcoreStatistics lcore = loop->Statistics();
    seen.lcores.records_dropped += lcore.records_dropped;
    seen.lcores.frames_dropped += lcore.passing_dropped;
    if (!lcore.received_any) continue;
    seen.extent.first =
        std::min(seen.extent.first.value_or(lcore.first_arrival), lcore.first_arrival);
    seen.extent.last = std::max(seen.extent.last, lcore.last_arrival);
  }
  return seen;
}

// CNPs and ACKs by a queue of their own, where the NIC can and software spreads the frames.
void Steer(const Port& port, SpreadBy spread) {
  const bool by_software = spread == SpreadBy::kAuto || spread == SpreadBy::kSoftware;
  if (!port.spreads() || !by_software) return;
  const auto last = static_cast<uint16_t>(port.queues() - 1);
  const SteeringRules rules = SteerCongestionSigns(port.id(), last);
  if (rules.installed.empty()) return;
  Message(fmt::format("port {}: {} come by queue {}", port.name(),
                      fmt::join(rules.installed, " and "), last));
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
  const size_t there = (*eal)->lcore_count();
  if (options.lcores > there) {
    return Fail({.message = fmt::format("--lcores {}: EAL has {}: name more by -l in --eal",
                                        options.lcores, there)},
                kExitUsage);
  }
  const auto lcores = static_cast<uint16_t>(options.lcores == 0 ? there : options.lcores);
  const Result<Ports> ports = OpenPorts(options, lcores);
  if (!ports) return Fail(ports.error(), kExitUnreadable);
  const Result<Loops> loops = MakeLoops(options, *ports, lcores);
  if (!loops) return Fail(loops.error(), kExitUsage);
  for (const auto& port : *ports) {
    if (const Status started = port->Start(); !started) {
      return Fail(started.error(), kExitUnreadable);
    }
    Steer(*port, options.spread);
  }

  LiveRun control(*ports, *loops, *analysis, options.seconds);
  std::future<void> reader = std::async(std::launch::async, [&] {
    affinity.Restore();
    control.Run();
  });
  (*eal)->RunOnLcores(lcores, [&](size_t i) { (*loops)[i]->Run(control.stop()); });
  control.LcoresEnded();
  affinity.Restore();
  reader.get();

  Analysis::Seen seen = Sum(*loops);
  const bool well = LookAtPorts(*ports, *analysis, seen.ports);
  if (!analysis->Report(seen)) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
