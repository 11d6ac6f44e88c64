// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/telemetry_report.h"

#include <string>

#include "rocescope/v1/report.pb.h"

namespace rocescope {

void FillLedger(const Ledger& ledger, v1::Ledger& out) {
  out.set_received(ledger.received);
  out.set_decoded(ledger.decoded);
  out.set_filtered(ledger.filtered);
  for (size_t i = 0; i < kDropReasonCount; ++i) {
    if (ledger.dropped[i] == 0) continue;
    v1::DropCount& row = *out.add_dropped();
    row.set_reason(std::string(kDropReasons[i].name));
    row.set_count(ledger.dropped[i]);
    row.set_meaning(std::string(kDropReasons[i].sentence));
  }
}

void FillTelemetry(const ReplayFindings& findings, v1::Telemetry& out) {
  const TelemetryCounters& counters = findings.dataplane.counters.telemetry;
  FillLedger(counters.int_reports, *out.mutable_int_report_ledger());
  FillLedger(counters.sflow_datagrams, *out.mutable_sflow_datagram_ledger());
  FillLedger(counters.samples, *out.mutable_sflow_sample_ledger());
  FillLedger(findings.counters.lines, *out.mutable_counter_line_ledger());
  out.set_int_datagrams(counters.int_datagrams);
  out.set_int_stack_packets(counters.int_stacks);
  out.set_hop_records(counters.hop_records);
  out.set_sampled_packets(counters.sample_records);
  out.set_counter_records(counters.counter_records + findings.counters.records);
  out.set_unknown_packets(counters.packets_unknown);
  out.set_skipped_records(counters.records_skipped);
  for (const TelemetrySource& source : findings.dataplane.telemetry) {
    v1::TelemetrySource& row = *out.add_sources();
    row.set_kind(source.is_sflow ? v1::TelemetrySource::KIND_SFLOW : v1::TelemetrySource::KIND_INT);
    row.set_tap(findings.dataplane.taps.at(source.tap).name);
    row.set_node_id(source.node_id);
    row.set_hardware_id(source.hardware_id);
    if (source.is_sflow) row.set_agent_address(ToString(source.agent));
    row.set_sub_agent_id(source.sub_agent);
    row.set_datagrams(source.datagrams);
    row.set_lost_datagrams(source.lost);
  }
}

}  // namespace rocescope
