// SPDX-License-Identifier: BSD-3-Clause
// Measured figures from which a plan computes cores, memory and disk of an appliance.
// docs/sizing.md lists each of them with the machine, the commit or the results file that it comes
// from, and sizing_test.cc compares both. Change them only after a measurement.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rocescope::plan {

// Frames per second that one DPDK core received for ten minutes without loss while the appliance
// analysed them: README.md, "Performance"; tests/perf, group `appliance`, part `mirror`.
inline constexpr uint64_t kPacketsPerCore = 2'000'000;
// Packets per CPU-second of decoder and flow table with frames in memory: docs/benchmarks.md, "How
// fast is it?". Upper limits: a core that also receives frames processes fewer.
inline constexpr uint64_t kDecodedWithFewFlows = 15'100'000;  // 10,000 queue pairs
inline constexpr uint64_t kDecodedWithManyFlows = 9'200'000;  // 1,000,000 queue pairs
// INT and sFlow datagrams per CPU-second: docs/installation.md; tests/perf, group `appliance`.
inline constexpr uint64_t kDatagramsPerCore = 300'000;
// Counter readings per CPU-second of `rocescope replay`: docs/results/2026-11-28-bars.md, "The
// simulated day".
inline constexpr uint64_t kReadingsPerCore = 373'000;

// Bytes that a receiving core allocates at the start: dataplane/port/README.md, "Memory".
inline constexpr uint64_t kReceiveCoreBytes = 630'000'000;
// Bytes of a flow in all trackers, with a topology: README.md, "Scale" (7 to 8 GB for a million).
inline constexpr uint64_t kFlowBytes = 8'000;
// Resident memory of an appliance of 8 hosts after 25 hours:
// docs/results/2026-11-29-security.md, "Soak test".
inline constexpr uint64_t kBaseBytes = 128'000'000;
// Bytes of a link of the topology, and of a series of counters: docs/reference/configuration.md,
// key `memory`; appliance/daemon/core/daemon.cc.
inline constexpr uint64_t kLinkBytes = 8'192;
inline constexpr uint64_t kSeriesBytes = 16'384;
// Bytes on disk of a link direction and minute in the history: CHANGELOG.md;
// tests/perf/history_scale.cc.
inline constexpr uint64_t kLinkMinuteBytes = 6;

// Limits of one appliance: dataplane/record/capacity.h, and the key `dpdk.lcores`.
inline constexpr uint64_t kMostFlows = 1'048'576;
inline constexpr uint64_t kMostReceiveCores = 64;
// Cores in addition to the receiving ones, for the analysis and for everything else. The
// measurement of kPacketsPerCore had one.
inline constexpr uint64_t kOtherCores = 2;
inline constexpr uint64_t kMeasuredOtherCores = 1;

// The planned load of a core is kPacketsPerCore divided by this factor: no measurement used real
// ports, other processors differ, and traffic comes in bursts.
inline constexpr double kCoreSafety = 1.5;
// The program refuses new flows above three quarters of its budget (key `memory`), and its budget
// is at most three quarters of the physical memory.
inline constexpr double kMemoryHeadroom = 4.0 / 3;

// Frames per second that the kernel delivers from an interface: a rule of thumb, not measured.
inline constexpr uint64_t kKernelPackets = 1'000'000;
// Series of counters of a port by sFlow: dataplane/telemetry/sflow_counters.cc, interface and
// Ethernet counters.
inline constexpr uint64_t kSeriesPerPort = 13;
// Defaults of the keys `memory`, `history.max_bytes` and `history.keep_series`.
inline constexpr uint64_t kDefaultBudget = uint64_t{8} << 30;
inline constexpr uint64_t kDefaultHistoryBytes = uint64_t{1} << 30;
inline constexpr uint64_t kHistoryDays = 14;

struct SizingFigure {
  std::string_view name;  // as in docs/sizing.md
  double value = 0;
};
inline constexpr std::array<SizingFigure, 15> kSizingFigures = {{
    {"kPacketsPerCore", kPacketsPerCore},
    {"kDecodedWithFewFlows", kDecodedWithFewFlows},
    {"kDecodedWithManyFlows", kDecodedWithManyFlows},
    {"kDatagramsPerCore", kDatagramsPerCore},
    {"kReadingsPerCore", kReadingsPerCore},
    {"kReceiveCoreBytes", kReceiveCoreBytes},
    {"kFlowBytes", kFlowBytes},
    {"kBaseBytes", kBaseBytes},
    {"kLinkBytes", kLinkBytes},
    {"kSeriesBytes", kSeriesBytes},
    {"kLinkMinuteBytes", kLinkMinuteBytes},
    {"kMostFlows", kMostFlows},
    {"kMostReceiveCores", kMostReceiveCores},
    {"kOtherCores", kOtherCores},
    {"kCoreSafety", kCoreSafety},
}};

}  // namespace rocescope::plan
