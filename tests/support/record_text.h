// SPDX-License-Identifier: BSD-3-Clause
// Formats records as text (all fields except the hints), for tests that compare two ways to produce
// them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "dataplane/record/record.h"

namespace rocescope::test {

inline std::string Text(const PsnCounts& counts) {
  return fmt::format("{}/{}/{}/{}/{}/{}", counts.missing, counts.reordered, counts.retransmitted,
                     counts.restarts, counts.valid, counts.last_psn);
}

inline std::string Text(const DurationSummary& summary) {
  return fmt::format("{}/{}/{}/{}", summary.count, summary.sum.count(), summary.minimum.count(),
                     summary.maximum.count());
}

inline std::string Text(const FlowKey& flow) {
  return fmt::format("{}>{}:{}@{}", ToString(flow.source), ToString(flow.destination),
                     flow.destination_qpn.value, flow.segment);
}

inline std::string Text(const FlowRecord& r) {
  std::string text = fmt::format("flow {} {} {} {} {} {}", Text(r.flow), r.ttl, r.dscp,
                                 r.dscp_changed, r.udp_source_port, r.udp_source_port_changes);
  text += fmt::format(" {} {} {}", ToNanoseconds(r.interval_start), ToNanoseconds(r.first_seen),
                      ToNanoseconds(r.last_seen));
  text += fmt::format(" {} {} {} {} {} {} {} {} {}", r.packets, r.bytes, r.payload_bytes,
                      r.class_packets, r.hop_copies, r.messages, r.control_messages,
                      r.control_bytes, r.message_sizes);
  text += fmt::format(" {} {} {} {} {} {} {} {} {} {}", Text(r.requests), Text(r.responses), r.naks,
                      r.last_credits, r.ce_marked, r.last_rkey, r.first_request_psn, r.began,
                      Text(r.ack_round_trip), Text(r.message_gap));
  return text;
}

inline std::string Text(const ObservationRecord& s) {
  return fmt::format("sighting {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}",
                     Text(s.flow), static_cast<int>(s.kind), s.opcode, s.ttl, s.rate_exponent,
                     s.congestion_experienced, s.ack_request, s.has_reth, s.has_clear_to_send,
                     s.syndrome, s.psn, s.msn, s.payload_length, ToNanoseconds(s.event_time),
                     ToNanoseconds(s.arrival_time), s.reth_address, s.reth_rkey, s.reth_length,
                     s.granted_address, s.granted_words);
}

inline std::string Text(const ManagementRecord& m) {
  return fmt::format("cm {} {} {} {}", m.segment, ToString(m.source), ToNanoseconds(m.event_time),
                     m.message.transaction_id);
}

// A line for each record, with the name of its tap from `name`.
template <typename Name>
std::vector<std::string> Lines(const RecordBatch& batch, Name name) {
  std::vector<std::string> lines;
  const auto add = [&](const auto& records) {
    for (const auto& record : records) {
      lines.push_back(fmt::format("{} at {}", Text(record), name(record.tap)));
    }
  };
  add(batch.flows);
  add(batch.sightings);
  add(batch.management);
  return lines;
}

// All records in order of arrival.
inline std::string Text(const RecordBatch& batch) {
  return fmt::format("{}", fmt::join(Lines(batch, [](TapId tap) { return tap; }), "\n"));
}

}  // namespace rocescope::test
