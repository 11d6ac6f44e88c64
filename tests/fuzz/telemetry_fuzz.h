// SPDX-License-Identifier: BSD-3-Clause
// Passes a telemetry datagram through the reader that produces records, for the INT and sFlow
// fuzzers. Byte 0: bit 0, the capture truncated it; bit 1, a filter selects a queue pair.
#pragma once

#include <span>

#include "dataplane/telemetry/telemetry_reader.h"
#include "tests/fuzz/require.h"

namespace rocescope {

inline void ReadTelemetry(FrameKind kind, std::span<const uint8_t> input) {
  if (input.empty()) return;
  TelemetryReader::Options options;
  if ((input[0] & 2) != 0) options.filter.qpns = {Qpn{17}};
  TelemetryReader reader(options);
  DecodedFrame frame{};
  frame.kind = kind;
  frame.cut = (input[0] & 1) != 0;
  frame.telemetry = input.subspan(1);
  RecordBatch out;
  const Timestamp arrival = FromNanoseconds(1'700'000'000'000'000'000);
  reader.Take(frame, 0, arrival, out);

  const TelemetryCounters& counters = reader.counters();
  Require(counters.int_reports.Balances() && counters.samples.Balances() &&
              counters.sflow_datagrams.Balances(),
          "the telemetry ledgers balance");
  Require(counters.hop_records == out.hops.size() &&
              counters.sample_records == out.samples.size() &&
              counters.counter_records == out.counters.size(),
          "every record is counted");
  Require(
      frame.cut ||
          counters.int_reports.dropped[static_cast<size_t>(DropReason::kTruncatedTelemetry)] == 0,
      "nothing was truncated");
  for (const HopRecord& hop : out.hops) {
    Require(hop.hop < hop.hop_count, "the hop index is within the path");
    const Duration away = hop.event_time - arrival;
    Require(away <= std::chrono::seconds(1) && away >= std::chrono::seconds(-1),
            "an event is near its arrival");
    Require(hop.event_time_told || away == Duration(0),
            "a reported time is used if and only if present");
    Require(options.filter.qpns.empty() || hop.packet.known, "filters select only known packets");
  }
  for (const SampleRecord& sample : out.samples) {
    Require(sample.vlan <= 4094, "the VLAN is valid");
    Require(options.filter.qpns.empty() || sample.packet.known,
            "filters select only known packets");
  }
  for (const CounterRecord& record : out.counters) {
    Require(record.metric < Metric::kCount, "the metric is in the table");
    Require(record.bits == 64 || record.value >> record.bits == 0, "the value fits its width");
    Require(record.entity.node.size() <= 64, "the name is bounded");
  }
}

}  // namespace rocescope
