// SPDX-License-Identifier: BSD-3-Clause
// What is to be simulated: a fabric, jobs on it, what goes wrong, and which telemetry it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "sim/fault/fault.h"
#include "sim/host/network.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"
#include "topology/fabric.h"

namespace rocescope::sim {

enum class MirrorPlan : uint8_t {
  kLeaf,      // each leaf, all ports, as frames come in
  kAll,       // each switch, all ports, as frames come in
  kPortSets,  // each switch, four sessions that do not name their ports
};

struct TelemetryOptions {
  std::vector<MirrorPlan> mirrors = {MirrorPlan::kLeaf};
  uint32_t snap_length = 192;                 // octets of a mirrored frame
  uint64_t collector_rate = 400'000'000'000;  // bit/s, of the box's port
  std::optional<uint32_t> int_exponent;       // postcards of one frame in 2^k
  uint32_t sflow_rate = 0;                    // one frame in so many; 0: no sFlow
  SimTime counter_period = kMillisecond;      // 0: no counters
  SimTime clock_error = 0;                    // a switch's clock is up to so much off the wall's
  std::string nccl_version = "2.20";          // of the logs; empty: none
  bool rdma = false;
  bool slurm = true;
};

struct Scenario {
  std::string name;
  std::string about;  // a sentence
  uint64_t seed = 1;
  SimTime duration = 10 * kMillisecond;
  // Of all that is written; not in the file.
  Timestamp epoch = FromNanoseconds(1'750'000'000'000'000'000);
  uint32_t dilation = 1;  // times are longer and speeds lower by this (sim/emit/wall_clock.h)
  Duration record_interval = std::chrono::milliseconds(1);
  Duration analysis_window = std::chrono::milliseconds(1);
  double time_scale = 0.01;  // of timers and polling periods, which are given as in life
  SimTime reroute_delay = 20 * kMillisecond;
  std::optional<topology::Fabric> fabric;  // never empty once loaded
  NetworkOptions network;
  std::vector<JobOptions> jobs;
  std::vector<Stream::Options> streams;  // background
  std::vector<FaultOptions> faults;
  TelemetryOptions telemetry;
};

// `file` names the text in errors: "FILE:LINE:COLUMN: what is wrong, and what was expected", one a
// line. Places that do not exist, faults outside of the run and negative rates are errors; nothing
// is simulated. README.md has the schema. `seed` takes the place of the file's.
Result<Scenario> LoadScenario(std::string_view text, std::string_view file,
                              std::optional<uint64_t> seed = std::nullopt);

// "512K", "64M", "1G": powers of 1024; or plain octets.
Result<uint64_t> ParseSize(std::string_view text);
// "10ms" and the like, up to 1000 s; picoseconds.
Result<SimTime> ParseSimTime(std::string_view text);

}  // namespace rocescope::sim
