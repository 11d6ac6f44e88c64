// SPDX-License-Identifier: BSD-3-Clause
// run.json: the description of a run directory's content and origin. README.md lists the keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

struct RunManifest {
  // Incremented when a key changes its meaning or a new key must not be ignored.
  static constexpr uint32_t kSchemaVersion = 1;
  static constexpr size_t kLongestName = 128;  // maximum length of `scenario` in bytes

  // UDP destination ports of the collector.
  struct Ports {
    uint16_t int_reports = 32766;
    uint16_t int_md = 555;
    uint16_t sflow = 6343;

    friend bool operator==(const Ports&, const Ports&) = default;
  };
  // The telemetry sources that were enabled. The run directory contains the corresponding files.
  struct Telemetry {
    bool mirror = false;
    bool int_reports = false;
    bool sflow = false;
    bool counters = false;
    bool nccl_logs = false;
    bool rdma = false;

    friend bool operator==(const Telemetry&, const Telemetry&) = default;
  };

  std::string scenario;  // name of the scenario
  uint64_t seed = 0;
  Timestamp epoch;  // start of the run
  Duration duration{};
  Duration record_interval{};
  Duration analysis_window{};  // a multiple of record_interval
  Duration counter_period{};   // for switch, NIC and GPU counters; 0: no counters were read
  double time_scale = 1;       // factor by which timers and polling periods were multiplied
  Ports ports;
  Telemetry telemetry;

  friend bool operator==(const RunManifest&, const RunManifest&) = default;
};

// The error names the key and says what was expected.
Result<RunManifest> ParseRunManifest(std::string_view text);

// Returns indented JSON with one key per line, which ParseRunManifest reads back.
std::string RenderRunManifest(const RunManifest& manifest);

}  // namespace rocescope
