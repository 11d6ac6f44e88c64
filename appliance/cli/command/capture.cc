// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/capture.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/live_run.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/sandboxed_run.h"
#include "appliance/cli/command/shell_words.h"
#include "appliance/cli/command/stop_signal.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/port_set.h"

namespace rocescope {
namespace {

// The cores that the process may use; EAL restricts this thread to its main core.
class Affinity {
 public:
  Affinity() { known_ = sched_getaffinity(0, sizeof cores_, &cores_) == 0; }
  void Restore() const {
    if (known_) sched_setaffinity(0, sizeof cores_, &cores_);
  }
  // The cores that the polling worker cores leave free, or all cores if there are none.
  void RestoreBeside(const std::vector<int>& taken) const {
    cpu_set_t left = cores_;
    for (const int core : taken) CPU_CLR(core, &left);
    if (known_) sched_setaffinity(0, sizeof left, CPU_COUNT(&left) > 0 ? &left : &cores_);
  }

 private:
  cpu_set_t cores_{};
  bool known_ = false;
};

// Notes errors of a capture file that is read as a port. Returns true if there are none.
bool LookAtFile(const Port& port, const PortCounters& counters, bool ended, Analysis& analysis) {
  if (counters.failed_reads > 0) {
    analysis.Note(
        fmt::format("port {}: the file is truncated or corrupt, or a frame does not fit the memory "
                    "pool (--mbufs); the report covers the {} frames before that",
                    port.name(), counters.delivered));
  } else if (!ended) {
    analysis.Note(
        fmt::format("port {}: the capture ended before the end of its file; the report covers the "
                    "first {} frames",
                    port.name(), counters.delivered));
  }
  if (counters.no_mbuf > 0) {
    analysis.Note(fmt::format("port {}: {} frames of the file found no free mbuf; increase --mbufs",
                              port.name(), counters.no_mbuf));
  }
  return counters.failed_reads == 0 && ended && counters.no_mbuf == 0;
}

// Notes the losses of a live port.
void LookAtWire(const Port& port, const PortCounters& counters, Analysis& analysis) {
  const uint64_t lost = counters.missed + counters.no_mbuf + counters.errors;
  if (lost > 0) {
    analysis.Note(
        fmt::format("port {}: {} frames were lost before rocescope received them ({} missed, {} "
                    "without an mbuf, {} with errors)",
                    port.name(), lost, counters.missed, counters.no_mbuf, counters.errors));
  }
  if (counters.failed_reads > 0) {
    analysis.Note(
        fmt::format("port {}: cannot read the interface; it may be down or removed", port.name()));
  }
  if (!port.counts_losses()) {
    analysis.Note(
        fmt::format("port {}: the driver ({}) does not count losses; net_pcap with rx_iface= does",
                    port.name(), port.driver()));
  }
}

// Adds the ports' counters to the report and notes their errors. Returns true if there are none.
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
    const PortCounters counters = port->Counters().value_or(PortCounters{});
    if (port->is_file()) {
      const bool ended = std::find(unfinished.begin(), unfinished.end(), port) == unfinished.end();
      well = LookAtFile(*port, counters, ended, analysis) && well;
    } else {
      LookAtWire(*port, counters, analysis);
    }
    findings.push_back(FindingsOf(*port, mbufs_peaks[i]));
  }
  return well;
}

Analysis::Seen Sum(const Loops& loops) {
  Analysis::Seen seen;
  for (const auto& loop : loops) {
    seen.dataplane.Add(loop->processor(), loop->MirrorStreams());
    const SourceStatistics lcore = loop->Statistics();
    seen.lcores.records_dropped += lcore.records_dropped;
    if (!lcore.received_any) continue;
    seen.extent.first =
        std::min(seen.extent.first.value_or(lcore.first_arrival), lcore.first_arrival);
    seen.extent.last = std::max(seen.extent.last, lcore.last_arrival);
  }
  return seen;
}

// If one loop throws, stop the others and the reader.
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
  EndInputOnSignal();  // not earlier: EAL would not react to the signal while it starts
  const size_t there = (*eal)->lcore_count();
  if (options.lcores > there) {
    return Fail({.message = fmt::format("--lcores {}: EAL has {}; add cores to -l in --eal",
                                        options.lcores, there)},
                kExitUsage);
  }
  const auto lcores = static_cast<uint16_t>(options.lcores == 0 ? there : options.lcores);
  Result<PortSet> set = PortSet::Open(
      {.ports = options.ports, .lcores = lcores, .spread = options.spread, .mbufs = options.mbufs});
  if (!set) return Fail(set.error(), kExitUnreadable);
  FrameProcessor::Options processor = ProcessorOptions(options.analysis, {});
  processor.taps = std::make_shared<TapRegistry>(set->Names());
  analysis->Follow(processor.taps);
  if (const Status made = set->MakeLoops(processor, 0); !made) {
    return Fail(made.error(), kExitUsage);
  }
  if (const Status started = set->Start(); !started) return Fail(started.error(), kExitUnreadable);
  for (const auto& port : set->ports()) {
    for (const std::string& remark : port->remarks()) Message(remark);
  }
  if (const Status alike = set->CheckSpread(); !alike) return Fail(alike.error(), kExitUsage);
  SandboxCapture();
  const Ports& ports = set->ports();
  const Loops& loops = set->loops();

  LiveRun control(ports, loops,
                  {.records = {.ingest =
                                   [&](const RecordBatch& records) {
                                     analysis->Ingest(records);
                                     analysis->KeepWithinMemory(0);
                                   },
                               .advance = [&](Timestamp reached) { analysis->Advance(reached); }},
                   .note = [&](std::string note) { analysis->Note(std::move(note)); }},
                  options.seconds);
  std::future<void> reader = std::async(std::launch::async, [&] {
    affinity.RestoreBeside((*eal)->Cores());
    control.Run();
  });
  RunLoops(**eal, loops, control);
  affinity.Restore();
  reader.get();

  Analysis::Seen seen = Sum(loops);
  const bool well = LookAtPorts(ports, loops, control.mbufs_peaks(), *analysis, seen.ports);
  if (!analysis->Report(seen)) return kExitOutput;
  return well ? kExitSuccess : kExitDamaged;
}

}  // namespace rocescope
