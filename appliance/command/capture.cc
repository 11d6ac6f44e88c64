// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/command/capture.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "appliance/command/exit_code.h"
#include "appliance/command/live_run.h"
#include "appliance/command/message.h"
#include "appliance/command/shell_words.h"
#include "appliance/command/stop_signal.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port.h"
#include "dataplane/port/receive_loop.h"
#include "dataplane/port/spreader.h"

namespace rocescope {
namespace {

bool BySoftware(SpreadBy spread) {
  return spread == SpreadBy::kAuto || spread == SpreadBy::kSoftware;
}

Result<Ports> OpenPorts(const CaptureRunOptions& options, uint16_t lcores) {
  const Result<std::vector<uint16_t>> ids = FindPorts(options.ports);
  if (!ids) return tl::unexpected(ids.error());
  Ports ports;
  for (const uint16_t id : *ids) {
    auto port = Port::Open(
        id, {.lcores = lcores, .steer = BySoftware(options.spread), .mbufs = options.mbufs});
    if (!port) return tl::unexpected(port.error());
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
  if (lcores > 1 && BySoftware(options.spread)) {
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
    if (lcores > 1) {  // what the box may sight is theirs together
      SightingBudget::Options& sightings = loop.processor.flow_table.sightings;
      sightings.rate = rate;
      sightings.always_per_interval = (sightings.always_per_interval + lcores - 1) / lcores;
    }
    loop.spread = rings;
    loop.lcore = lcore;
    loop.wait = all([](const auto& port) { return port->is_file(); });
    loop.our_clock =
        all([](const auto& port) { return port->time() != PortTime::kEpochMicroseconds; });
    made.push_back(std::make_unique<ReceiveLoop>(std::move(loop)));
  }
  return made;
}

// By the NIC's hash alone each lcore must get one queue of each port, and the same pairs on all.
Status CheckRss(const Ports& ports, uint16_t lcores) {
  for (const auto& port : ports) {
    if (!port->spreads() || port->queues() != lcores) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--spread rss: port {} ({}) has no hash of IPv4 addresses alone, "
                      "or not a queue for each of {} lcores: leave --spread out, for "
                      "software to spread",
                      port->name(), port->driver(), lcores));
    }
    if (ports.size() > 1 &&
        (port->table_size() == 0 || port->table_size() != ports.front()->table_size())) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--spread rss: ports {} and {} do not spread alike (their tables "
                      "have {} and {} entries that rocescope may write), so the two "
                      "directions of a host pair may come to two lcores: leave "
                      "--spread out, or capture from one port",
                      ports.front()->name(), port->name(), ports.front()->table_size(),
                      port->table_size()));
    }
  }
  return {};
}

// The cores that the process may use, which EAL narrows to its main lcore's for this thread.
class Affinity {
 public:
  Affinity() { known_ = sched_getaffinity(0, sizeof cores_, &cores_) == 0; }
  void Restore() const {
    if (known_) sched_setaffinity(0, sizeof cores_, &cores_);
  }
  // Those that lcores, which never sleep, leave to others; all of them if they leave none.
  void RestoreBeside(const std::vector<int>& taken) const {
    cpu_set_t left = cores_;
    for (const int core : taken) CPU_CLR(core, &left);
    if (known_) sched_setaffinity(0, sizeof left, CPU_COUNT(&left) > 0 ? &left : &cores_);
  }

 private:
  cpu_set_t cores_{};
  bool known_ = false;
};

// Notes what was wrong with a capture file as a port; true if nothing was.
bool LookAtFile(const Port& port, const PortCounters& counters, bool ended, Analysis& analysis) {
  if (counters.failed_reads > 0) {
    analysis.Note(fmt::format(
        "port {}: its file is cut or damaged, or its pool too small for a frame (--mbufs): the "
        "report covers the {} frames before that",
        port.name(), counters.delivered));
  } else if (!ended) {
    analysis.Note(fmt::format(
        "port {}: its file had not come to its end: the report covers the first {} frames",
        port.name(), counters.delivered));
  }
  if (counters.no_mbuf > 0) {
    analysis.Note(fmt::format("port {}: {} frames of its file found no mbuf: give more (--mbufs)",
                              port.name(), counters.no_mbuf));
  }
  return counters.failed_reads == 0 && ended && counters.no_mbuf == 0;
}

// Notes what a wire lost.
void LookAtWire(const Port& port, const PortCounters& counters, Analysis& analysis) {
  const uint64_t lost = counters.missed + counters.no_mbuf + counters.errors;
  if (lost > 0) {
    analysis.Note(
        fmt::format("port {}: lost {} frames before rocescope saw them ({} missed, {} "
                    "without an mbuf, {} broken)",
                    port.name(), lost, counters.missed, counters.no_mbuf, counters.errors));
  }
  if (counters.failed_reads > 0) {
    analysis.Note(fmt::format("port {}: its interface could not be read: was it down, or gone?",
                              port.name()));
  }
  if (!port.counts_losses()) {
    analysis.Note(
        fmt::format("port {}: its driver ({}) does not count what it loses; net_pcap with "
                    "rx_iface= does",
                    port.name(), port.driver()));
  }
}

// What the ports counted; notes what was wrong with them. True if all was well.
bool LookAtPorts(const Ports& ports, const Loops& loops, const std::vector<uint32_t>& mbufs_peaks,
                 Analysis& analysis, std::vector<PortFindings>& findings) {
  std::vector<const Port*> unfinished;
  for (const auto& loop : loops) {
    const std::vector<const Port*> more = loop->UnfinishedFiles();
    unfinished.insert(unfinished.end(), more.begin(), more.end());
  }
  bool well = true;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Port* port = ports[i].get();
    const std::optional<PortCounters> told = port->Counters();
    const PortCounters counters = told.value_or(PortCounters{});
    if (port->is_file()) {
      const bool ended = std::find(unfinished.begin(), unfinished.end(), port) == unfinished.end();
      well = LookAtFile(*port, counters, ended, analysis) && well;
    } else {
      LookAtWire(*port, counters, analysis);
    }
    findings.push_back({.name = port->name(),
                        .driver = port->driver(),
                        .counted = told.has_value(),
                        .losses_counted = told.has_value() && port->counts_losses(),
                        .received = counters.delivered,
                        .missed = counters.missed,
                        .no_mbuf = counters.no_mbuf,
                        .errors = counters.errors,
                        .mbufs = port->mbufs(),
                        .mbufs_in_use = port->MbufsInUse(),
                        .mbufs_peak = mbufs_peaks[i]});
  }
  return well;
}

Analysis::Seen Sum(const Loops& loops) {
  Analysis::Seen seen;
  for (const auto& loop : loops) {
    seen.dataplane.Add(loop->processor(), loop->MirrorStreams());
    const LcoreStatistics lcore = loop->Statistics();
    seen.lcores.records_dropped += lcore.records_dropped;
    if (!lcore.received_any) continue;
    seen.extent.first =
        std::min(seen.extent.first.value_or(lcore.first_arrival), lcore.first_arrival);
    seen.extent.last = std::max(seen.extent.last, lcore.last_arrival);
  }
  return seen;
}

// One that throws must not leave the others running, nor the reader waiting.
void RunLoops(Eal& eal, const Loops& loops, LiveRun& control) {
  try {
    eal.RunOnLcores(loops.size(), [&](size_t i) {
      try {
        loops[i]->Run(control.stop());
      } catch (...) {
        control.Stop();
        throw;
      }
    });
  } catch (...) {
    control.LcoresEnded();
    throw;
  }
  control.LcoresEnded();
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
  if (!analysis) {
    MessageLines(analysis.error().message);
    return kExitUnreadable;
  }

  const Affinity affinity;
  const auto eal = Eal::Start(*words, Message);
  if (!eal) {
    return Fail(eal.error(),
                eal.error().code == ErrorCode::kUnavailable ? kExitUnreadable : kExitUsage);
  }
  EndInputOnSignal();  // not before: nobody would look at it while EAL starts
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
  analysis->Follow(loops->front()->processor().taps().registry());  // all loops share it
  for (const auto& port : *ports) {
    if (const Status started = port->Start(); !started) {
      return Fail(started.error(), kExitUnreadable);
    }
    for (const std::string& remark : port->remarks()) Message(remark);
  }
  if (options.spread == SpreadBy::kRss && lcores > 1) {
    if (const Status alike = CheckRss(*ports, lcores); !alike) {
      return Fail(alike.error(), kExitUsage);
    }
  }

  LiveRun control(
      *ports, *loops,
      {.records = {.ingest = [&](const RecordBatch& records) { analysis->Ingest(records); },
                   .advance = [&](Timestamp reached) { analysis->Advance(reached); }},
       .note = [&](std::string note) { analysis->Note(std::move(note)); }},
      options.seconds);
  std::future<void> reader = std::async(std::launch::async, [&] {
    affinity.RestoreBeside((*eal)->Cores());
    control.Run();
  });
  RunLoops(**eal, *loops, control);
  affinity.Restore();
  reader.get();

  Analysis::Seen seen = Sum(*loops);
  const bool well = LookAtPorts(*ports, *loops, control.mbufs_peaks(), *analysis, seen.ports);
  if (!analysis->Report(seen)) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
