// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/common/report/coverage_report.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "dataplane/decode/drop_reason.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string KindsOf(const v1::Operations& operations) {
  std::string text;
  const auto add = [&text](uint64_t packets, std::string_view name) {
    if (packets == 0) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", WithThousands(packets), name);
  };
  add(operations.write(), "write");
  add(operations.send(), "send");
  add(operations.read_request(), "read request");
  add(operations.read_response(), "read response");
  add(operations.atomic(), "atomic");
  add(operations.acknowledge(), "ack");
  add(operations.cnp(), "cnp");
  add(operations.datagram(), "datagram");
  return text;
}

void AppendTaps(const v1::ReplayReport& report, std::string& text) {
  TextTable taps({{"FRAMES", Align::kRight}, {"TAP"}});
  for (int i = 0; i < std::min(report.taps_size(), kMaxRows); ++i) {
    taps.Add({WithThousands(report.taps(i).frames()), report.taps(i).name()});
  }
  if (!taps.empty()) text += taps.Deferred(2);
  AppendMore(report.taps_size(), "tap", text);
}

void AppendCutting(const v1::ReplayReport& report, std::string& text) {
  const uint64_t cut = report.totals().truncated_frames();
  if (cut == 0) return;
  text += fmt::format("  {} of {} decoded frames {} truncated to at most {} bytes\n",
                      WithThousands(cut), WithThousands(report.ledger().decoded()),
                      cut == 1 ? "was" : "were", report.coverage().longest_truncated_frame_bytes());
}

// Packets that a port lost before the collector received them.
void AppendPorts(const v1::ReplayReport& report, std::string& text) {
  if (report.dpdk_ports_size() == 0) return;
  TextTable table({{"RECEIVED", Align::kRight},
                   {"MISSED", Align::kRight},
                   {"NO MBUF", Align::kRight},
                   {"ERRORS", Align::kRight},
                   {"MBUFS", Align::kRight},
                   {"PEAK", Align::kRight},
                   {"PORT"},
                   {"DRIVER"}});
  for (const v1::DpdkPort& port : report.dpdk_ports()) {
    const auto count_text = [](bool counted, uint64_t count) {
      return counted ? WithThousands(count) : std::string("-");
    };
    table.Add({count_text(port.counted(), port.received_frames()),
               count_text(port.losses_counted(), port.missed_frames()),
               count_text(port.losses_counted(), port.no_mbuf_frames()),
               count_text(port.counted(), port.error_frames()), WithThousands(port.mbuf_count()),
               WithThousands(port.peak_used_mbuf_count()), port.name(), port.driver()});
  }
  text += "\n" + table.Deferred(2);
}

bool IsOtherTraffic(const v1::DropCount& row) {
  return row.reason() == kDropReasons[static_cast<size_t>(DropReason::kNotRoce)].name;
}

}  // namespace

void AppendMore(int total, std::string_view noun, std::string& text) {
  if (total <= kMaxRows) return;
  text +=
      fmt::format("  and {}; use -o json for all\n",
                  Counted(static_cast<uint64_t>(total - kMaxRows), fmt::format("more {}", noun)));
}

std::string CountOrBlank(uint64_t count) { return count == 0 ? "" : WithThousands(count); }

void AppendFlows(const v1::ReplayReport& report, std::string& text) {
  text +=
      fmt::format("FLOWS: {}, {} on the wire\n\n", Counted(report.totals().flow_count(), "flow"),
                  HumanBytes(report.totals().bytes()));
  TextTable table({{"FROM"},
                   {"TO"},
                   {"TO QP", Align::kRight},
                   {"WIRE BYTES", Align::kRight},
                   {"MESSAGES", Align::kRight, 2},
                   {"PACKETS", Align::kLeft, 1},
                   {"MISSING", Align::kRight},
                   {"RETRANS", Align::kRight},
                   {"CE", Align::kRight},
                   // Printed for the flow that carries the ACKs.
                   {"ACK RTT", Align::kRight}});
  for (int i = 0; i < std::min(report.flows_size(), kMaxRows); ++i) {
    const v1::Flow& flow = report.flows(i);
    table.Add({flow.source(), flow.destination(), std::to_string(flow.destination_qpn()),
               WithThousands(flow.bytes()), WithThousands(flow.messages()),
               KindsOf(flow.operations()), CountOrBlank(flow.loss().missing_packets()),
               CountOrBlank(flow.loss().retransmitted_packets()),
               CountOrBlank(flow.ce_marked_packets()),
               flow.ack_round_trip().count() == 0
                   ? ""
                   : HumanDuration(Nanoseconds(flow.ack_round_trip().mean_duration()))});
  }
  if (!table.empty()) text += table.Deferred(2);
  AppendMore(report.flows_size(), "flow", text);
  text += "\n";
}

void AppendBriefLedger(const v1::ReplayReport& report, std::string& text) {
  const v1::Ledger& ledger = report.ledger();
  uint64_t other = 0;
  uint64_t dropped = 0;
  for (const v1::DropCount& row : ledger.dropped()) {
    (IsOtherTraffic(row) ? other : dropped) += row.count();
  }
  text +=
      fmt::format("LEDGER: {} received = {} decoded + {} filtered + {}{} dropped\n\n",
                  Counted(ledger.received(), "frame"), WithThousands(ledger.decoded()),
                  WithThousands(ledger.filtered()),
                  other == 0 ? "" : WithThousands(other) + " non-RoCE + ", WithThousands(dropped));
}

void AppendLedger(const v1::ReplayReport& report, std::string& text) {
  AppendBriefLedger(report, text);
  TextTable table({{"DROPPED", Align::kRight}, {"REASON"}, {"MEANING"}});
  for (const v1::DropCount& row : report.ledger().dropped()) {
    if (!IsOtherTraffic(row)) {
      table.Add({WithThousands(row.count()), row.reason(), row.meaning()});
    }
  }
  if (!table.empty()) text += table.Deferred(2) + "\n";
  AppendTaps(report, text);
  AppendPorts(report, text);
  AppendCutting(report, text);
  AppendCoverage(report.coverage(), text);
}

}  // namespace rocescope
