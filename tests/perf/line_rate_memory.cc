// SPDX-License-Identifier: BSD-3-Clause
// Measures one core with frames in memory, in CPU time: decoding only, a lean loop with a minimum
// of state (lean_loop.h), and the product with all state and records. Prints one JSON object for
// line_rate.py.
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "dataplane/decode/plain.h"
#include "dataplane/flow/flow_entry.h"
#include "dataplane/flow/zeroed_array.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/wire/opcode.h"
#include "tests/perf/frame.h"
#include "tests/perf/lean_loop.h"
#include "tests/perf/workload.h"
#include "tests/support/counted_allocations.h"

namespace rocescope::perf {
namespace {

constexpr size_t kBurst = 64;  // as a port delivers them
constexpr size_t kErspanHeaders = 62;

struct Options {
  WorkloadOptions workload;
  bool erspan = false;
  uint32_t rounds = 5;
  uint32_t laps = 2;  // per round
  std::string only;   // "decode", "lean" or "state": only this loop, once, for a profiler
};

// Ticks of the time-stamp counter per second: cycles at the nominal frequency. 0: there is none.
double TicksPerSecond() {
#if defined(__x86_64__)
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  const uint64_t ticks = __builtin_ia32_rdtsc();
  while (now() - begin < 0.05) {
  }
  return static_cast<double>(__builtin_ia32_rdtsc() - ticks) / (now() - begin);
#else
  return 0;
#endif
}

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One lap of frames, each in separate memory. The next lap continues the sequences of this one.
class Lap {
 public:
  explicit Lap(const Options& options)
      : stride_(options.erspan ? 192 : 128),
        step_ns_(options.workload.duration_ns / static_cast<int64_t>(options.workload.packets)),
        now_ns_(options.workload.start_ns),
        frames_(options.workload.packets),
        bytes_(options.workload.packets * stride_) {
    bytes_.Touch();
    Workload workload(options.workload);
    FrameBuilder builder(static_cast<uint32_t>(128 + (options.erspan ? kErspanHeaders : 0)),
                         options.erspan);
    spaces_.resize(workload.flow_count());
    uint8_t* at = &bytes_[0];
    for (Place& place : frames_) {
      const Packet packet = workload.Next();
      const Frame frame = builder.Build(packet);
      std::memcpy(at, frame.bytes.data(), frame.bytes.size());
      place.length = static_cast<uint16_t>(frame.bytes.size());
      place.transport =
          static_cast<uint16_t>((options.erspan ? kErspanHeaders : 0) +
                                (packet.from->address.IsV4() ? 14 + 20 + 8 : 14 + 40 + 8));
      const wire::OpcodeInfo& opcode = wire::InfoOf(packet.bth.opcode);
      place.space = packet.bth.opcode == wire::kOpcodeCnp ? kNoSpace
                    : opcode.response                     ? packet.flow ^ 1
                                                          : packet.flow;
      if (place.space != kNoSpace) Note(spaces_[place.space], packet.bth.psn);
      at += stride_;
    }
  }

  size_t size() const { return frames_.size(); }

  // Every sequence continues after its highest PSN. ERSPAN sequence numbers repeat, which costs
  // nothing.
  void Advance() {
    uint8_t* at = &bytes_[0];
    for (const Place& place : frames_) {
      if (place.space != kNoSpace) {
        const Space& space = spaces_[place.space];
        uint8_t* psn = at + place.transport + 9;
        const uint32_t next =
            (uint32_t{psn[0]} << 16 | uint32_t{psn[1]} << 8 | psn[2]) + space.furthest + 1;
        psn[0] = static_cast<uint8_t>(next >> 16);
        psn[1] = static_cast<uint8_t>(next >> 8);
        psn[2] = static_cast<uint8_t>(next);
      }
      at += stride_;
    }
  }

  // Calls `take` with bursts of frames, as a port delivers them.
  template <typename Take>
  void Run(Take take) {
    std::array<RawFrame, kBurst> burst;
    const uint8_t* at = &bytes_[0];
    for (size_t done = 0; done < frames_.size();) {
      const size_t count = std::min(kBurst, frames_.size() - done);
      for (size_t i = 0; i < count; ++i, ++done, at += stride_) {
        const uint32_t length = frames_[done].length;
        burst[i].bytes = {at, length};
        burst[i].original_length = length;
        burst[i].timestamp = FromNanoseconds(now_ns_ += step_ns_);
      }
      take(std::span<const RawFrame>(burst.data(), count));
    }
  }

 private:
  static constexpr uint32_t kNoSpace = UINT32_MAX;
  struct Place {
    uint32_t space;
    uint16_t length;
    uint16_t transport;  // bytes before the BTH
  };
  struct Space {
    bool seen = false;
    uint32_t first = 0;
    uint32_t furthest = 0;  // relative to `first`
  };

  static void Note(Space& space, uint32_t psn) {
    if (!space.seen) space = {.seen = true, .first = psn};
    const uint32_t ahead = (psn - space.first) & k24BitMask;
    if (ahead < 1u << 23) space.furthest = std::max(space.furthest, ahead);
  }

  size_t stride_;
  int64_t step_ns_;
  int64_t now_ns_;
  std::vector<Place> frames_;
  std::vector<Space> spaces_;
  ZeroedArray<uint8_t> bytes_;  // in huge pages, as the buffers of a port are
};

struct Loop {
  Lap& lap;
  RocePacket packet;
  ErspanMark mark;
  uint64_t accepted = 0;

  double Decode(uint32_t laps) {
    const double begin = CpuSeconds();
    for (uint32_t i = 0; i < laps; ++i) {
      lap.Run([&](std::span<const RawFrame> burst) {
        for (const RawFrame& raw : burst) {
          accepted += ReadPlainRoce(raw, packet, mark);
        }
      });
    }
    return CpuSeconds() - begin;
  }
};

// Allocations of the last lap, after the record batch has reached its final size.
uint64_t last_allocations = 0;

double State(Lap& lap, FrameProcessor& processor, RecordBatch& records, uint32_t laps) {
  double seconds = 0;
  for (uint32_t i = 0; i < laps; ++i) {
    lap.Advance();
    const uint64_t before = test::allocations;
    const double begin = CpuSeconds();
    lap.Run([&](std::span<const RawFrame> burst) {
      processor.Process(burst, records);
      records.Clear();
    });
    seconds += CpuSeconds() - begin;
    last_allocations = test::allocations - before;
  }
  return seconds;
}

double Lean(Lap& lap, LeanLoop& lean, uint32_t laps) {
  double seconds = 0;
  for (uint32_t i = 0; i < laps; ++i) {
    lap.Advance();
    const double begin = CpuSeconds();
    lap.Run([&](std::span<const RawFrame> burst) { lean.Process(burst); });
    seconds += CpuSeconds() - begin;
  }
  return seconds;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int Run(const Options& options) {
  Lap lap(options);
  Loop loop{.lap = lap};
  auto processor = std::make_unique<FrameProcessor>(
      FrameProcessor::Options{.captures = {std::string("memory")}});
  LeanLoop lean(2 * size_t{options.workload.queue_pairs});
  RecordBatch records;
  if (options.only == "decode") return loop.Decode(options.laps) < 0;
  if (options.only != "state") Lean(lap, lean, 1);  // creates the flows
  if (options.only == "lean") return Lean(lap, lean, options.laps) < 0;
  State(lap, *processor, records, 1);
  if (options.only == "state") return State(lap, *processor, records, options.laps) < 0;
  std::vector<double> decode;
  std::vector<double> least;
  std::vector<double> state;
  for (uint32_t round = 0; round < options.rounds; ++round) {
    decode.push_back(loop.Decode(options.laps));
    least.push_back(Lean(lap, lean, options.laps));
    state.push_back(State(lap, *processor, records, options.laps));
  }
  const double packets = static_cast<double>(lap.size()) * options.laps;
  const auto& counters = processor->counters();
  fmt::print(
      "{{\"decode_rate\": {:.0f}, \"lean_rate\": {:.0f}, \"state_rate\": {:.0f}, "
      "\"ticks_per_second\": {:.0f}, \"flows\": {}, \"received\": {}, "
      "\"decoded\": {}, \"entry_bytes\": {}, \"lap_packets\": {}, \"lap_allocations\": {}}}\n",
      packets / Median(decode), packets / Median(least), packets / Median(state), TicksPerSecond(),
      processor->flows().size(), counters.ledger.received, counters.ledger.decoded,
      sizeof(FlowEntry), lap.size(), last_allocations);
  // The references are valid only if they read every frame, and found the same flows. The product
  // distinguishes flows by TTL, too, which is constant here.
  const uint64_t read = uint64_t{lap.size()} * options.laps * options.rounds;
  const bool all_plain = loop.accepted == read && lean.packets() == read + lap.size();
  const bool same_flows = lean.flows() == processor->flows().size();
  return counters.ledger.received == counters.ledger.decoded && all_plain && same_flows ? 0 : 1;
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  rocescope::perf::Options options;
  CLI::App app("Measures decoding and flow state with frames in memory, in packets per CPU second");
  app.add_option("--qps", options.workload.queue_pairs, "queue pairs");
  app.add_option("--hosts", options.workload.hosts, "hosts");
  app.add_option("--frames", options.workload.packets, "frames per lap");
  int64_t rate = 30'000'000;
  app.add_option("--rate", rate, "packets/s according to the frame timestamps")
      ->check(CLI::PositiveNumber);
  app.add_option("--rounds", options.rounds, "number of rounds; the median counts");
  app.add_option("--laps", options.laps, "laps per round");
  app.add_flag_callback(
      "--nccl", [&options] { options.workload.mix = rocescope::perf::TrafficMix::kNccl; },
      "only long messages of NCCL, with an ACK for every 16 packets");
  app.add_flag("--erspan", options.erspan, "encapsulate the frames in ERSPAN III");
  app.add_option("--only", options.only, "run only this loop, once");
  CLI11_PARSE(app, argc, argv);
  options.workload.duration_ns =
      static_cast<int64_t>(options.workload.packets) * 1'000'000'000 / rate;
  return rocescope::perf::Run(options);
}
