// SPDX-License-Identifier: BSD-3-Clause
// Records as text, for tests that hold two ways to them against each other.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>

#include "dataplane/record/record.h"

namespace rocescope::test {

inline std::string Text(const PsnCounts& counts) {
  return fmt::format("{}/{}/{}/{}/{}/{}", counts.unseen, counts.reordered, counts.resent,
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

// Every field of every record, a line each.
inline std::string Text(const RecordBatch& batch) {
  std::string text;
  for (const FlowRecord& r : batch.flows) {
    text += fmt::format("flow {} {} {} {} {} {} {}", Text(r.flow), r.tap, r.ttl, r.dscp,
                        r.dscp_changed, r.udp_source_port, r.udp_source_port_changes);
    text += fmt::format(" {} {} {}", ToNanoseconds(r.interval_start), ToNanoseconds(r.first_seen),
                        ToNanoseconds(r.last_seen));
    text += fmt::format(" {} {} {} {} {} {} {} {} {}", r.packets, r.bytes, r.payload_bytes,
                        r.class_packets, r.hop_copies, r.messages, r.control_messages,
                        r.control_bytes, r.message_sizes);
    text += fmt::format(" {} {} {} {} {} {} {} {} {} {}\n", Text(r.requests), Text(r.responses),
                        r.naks, r.last_credits, r.ce_marked, r.last_rkey, r.first_request_psn,
                        r.began, Text(r.ack_round_trip), Text(r.message_gap));
  }
  for (const SightingRecord& s : batch.sightings) {
    text += fmt::format("sighting {} {} {} {} {} {} {} {} {} {} {} {} {} {}", Text(s.flow), s.tap,
                        static_cast<int>(s.kind), s.opcode, s.ttl, s.rate_exponent,
                        s.congestion_experienced, s.ack_request, s.has_reth, s.has_clear_to_send,
                        s.syndrome, s.psn, s.msn, s.payload_length);
    text += fmt::format(" {} {} {} {} {} {} {}\n", ToNanoseconds(s.event_time),
                        ToNanoseconds(s.arrival_time), s.reth_address, s.reth_rkey, s.reth_length,
                        s.granted_address, s.granted_words);
  }
  for (const ManagementRecord& m : batch.management) {
    text += fmt::format("cm {} {} {} {} {}\n", m.tap, m.segment, ToString(m.source),
                        ToNanoseconds(m.event_time), m.message.transaction_id);
  }
  return text;
}

}  // namespace rocescope::test
