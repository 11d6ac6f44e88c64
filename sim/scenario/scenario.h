// SPDX-License-Identifier: BSD-3-Clause
// A scenario: a fabric, its jobs, its faults, and the telemetry to write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/text/yaml_fields.h"
#include "base/time.h"
#include "sim/benign/benign.h"
#include "sim/fault/fault.h"
#include "sim/host/network.h"
#include "sim/scenario/units.h"
#include "sim/workload/job.h"
#include "sim/workload/stream.h"
#include "sim/workload/tcp_flow.h"
#include "topology/fabric.h"

namespace rocescope::sim {

enum class MirrorPlan : uint8_t {
  kLeaf,      // each leaf, all ports, ingress
  kAll,       // each switch, all ports, ingress
  kPortSets,  // each switch, four sessions without port information
};

// Packets are sampled only in spans of `length`: one around the onset of each fault, and `random`
// others.
struct SflowSpans {
  SimTime length = 60 * kSecond;
  uint32_t random = 10;
};

struct TelemetryOptions {
  std::vector<MirrorPlan> mirrors = {MirrorPlan::kLeaf};
  uint32_t snap_length = 192;                 // bytes of a mirrored frame
  uint64_t collector_rate = 400'000'000'000;  // bit/s of the collector port
  std::optional<uint32_t> int_exponent;       // INT reports for one packet in 2^k; unset: no INT
  uint32_t sflow_rate = 0;                    // samples one packet in this many; 0: no sFlow
  SimTime sflow_counters = 20 * kSecond;      // period of counter samples; 0: none
  SimTime counter_period = kMillisecond;      // 0: no counters
  // Steps in which all counters are recorded in each analysis window, for telemetry profiles; 0: no
  // recording.
  uint32_t recording_steps = 0;
  SimTime clock_error = 0;            // maximum offset of a switch clock from the wall clock
  std::string nccl_version = "2.20";  // NCCL release of the logs; empty: no logs
  // Whether the logs contain queue pair numbers (NCCL_DEBUG_SUBSYS=INIT,NET).
  bool nccl_queue_pairs = true;
  bool rdma = false;
  bool slurm = true;

  // Flow model. Unset: packets are sampled during the whole run.
  std::optional<SflowSpans> sflow_spans;

  // Flow model: how the counters are read. Names of included telemetry profiles, or files that end
  // in .yaml.
  struct NodesWithProfile {
    std::vector<std::string> nodes;
    std::string profile;
    topology::Place place;  // position of the profile in the file
  };
  std::string profile;  // empty: all counters are exact and read together
  topology::Place profile_place;
  std::vector<NodesWithProfile> overrides;
};

enum class Model : uint8_t { kPacket, kFlow };
// The longest run of the packet model, in analysis windows and in simulated time.
inline constexpr uint32_t kMostPacketWindows = 1000;
inline constexpr SimTime kLongestPacketRun = 10 * kSecond;

struct Scenario {
  std::string name;
  std::string about;             // one sentence
  Model model = Model::kPacket;  // for which the scenario is meant
  uint64_t seed = 1;
  SimTime duration = 10 * kMillisecond;
  // Start time of all output; not part of the file.
  Timestamp epoch = FromNanoseconds(1'750'000'000'000'000'000);
  uint32_t dilation = 1;  // factor by which times grow and speeds shrink (sim/emit/wall_clock.h)
  Duration record_interval = std::chrono::milliseconds(1);
  Duration analysis_window = std::chrono::milliseconds(1);
  // Factor by which timers and polling periods are multiplied in the simulation. They are
  // configured with the values used in production.
  double time_scale = 0.01;
  SimTime reroute_delay = 20 * kMillisecond;
  std::optional<topology::Fabric> fabric;  // always set after loading
  NetworkOptions network;
  std::vector<JobOptions> jobs;
  std::vector<Stream::Options> streams;  // background traffic
  std::vector<FaultOptions> faults;
  BenignOptions benign;
  std::vector<MaintenanceOptions> maintenance;
  std::vector<TcpFlow::Options> foreign;  // traffic that is not RoCE
  TelemetryOptions telemetry;
};

// `file` names the text in errors, which have the form "FILE:LINE:COLUMN: what is wrong, and what
// was expected", one per line. Locations that do not exist, faults outside the run and negative
// rates are errors. Nothing is simulated. README.md has the schema. `seed` and `model` override
// those of the file; the model of the file determines the defaults of times.
Result<Scenario> LoadScenario(std::string_view text, std::string_view file,
                              std::optional<uint64_t> seed = std::nullopt,
                              std::optional<Model> model = std::nullopt);

// Number of steps of a recording if none is stated.
inline constexpr uint32_t kDefaultRecordingSteps = 20;
// A step must be a whole number of nanoseconds and last at least 1 us.
Status CheckRecordingSteps(Duration analysis_window, uint32_t steps);

}  // namespace rocescope::sim
