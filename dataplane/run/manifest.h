// SPDX-License-Identifier: BSD-3-Clause
// run.json: what a run directory holds and how it was made. README.md lists the keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace rocescope {

struct RunManifest {
  // Raised when a key changes its meaning or a new one must not be missed.
  static constexpr uint32_t kSchemaVersion = 1;
  static constexpr size_t kLongestName = 128;  // octets of `scenario`

  // UDP destination ports of the collector.
  struct Ports {
    uint16_t int_reports = 32766;
    uint16_t int_md = 555;
    uint16_t sflow = 6343;

    friend bool operator==(const Ports&, const Ports&) = default;
  };
  // What was on: the files that go with it are to be expected.
  struct Telemetry {
    bool mirror = false;
    bool int_reports = false;
    bool sflow = false;
    bool counters = false;
    bool nccl_logs = false;
    bool rdma = false;

    friend bool operator==(const Telemetry&, const Telemetry&) = default;
  };

  std::string scenario;  // its name
  uint64_t seed = 0;
  Timestamp epoch;  // at which the run begins
  Duration duration{};
  Duration record_interval{};
  Duration analysis_window{};  // a multiple of record_interval
  Duration counter_period{};   // of switch, NIC and GPU counters; 0: there are none
  double time_scale = 1;       // timers and polling periods were multiplied by it
  Ports ports;
  Telemetry telemetry;

  friend bool operator==(const RunManifest&, const RunManifest&) = default;
};

// The error says what was expected, and of which key.
Result<RunManifest> ParseRunManifest(std::string_view text);

// Indented, one key a line; ParseRunManifest reads it back.
std::string RenderRunManifest(const RunManifest& manifest);

}  // namespace rocescope
