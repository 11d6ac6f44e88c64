// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <string_view>

#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

struct Sent {
  uint64_t senders = 0;
  uint64_t lost = 0;
};

Sent SentBy(v1::TelemetrySource::Kind kind, const v1::Telemetry& telemetry) {
  Sent sent;
  for (const v1::TelemetrySource& source : telemetry.sources()) {
    if (source.kind() != kind) continue;
    ++sent.senders;
    sent.lost += source.lost_datagrams();
  }
  return sent;
}

void AddRow(std::string_view unit, const v1::Ledger& ledger, TextTable& table) {
  if (ledger.received() == 0) return;
  uint64_t dropped = 0;
  std::string reasons;
  for (const v1::DropCount& row : ledger.dropped()) {
    dropped += row.count();
    reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", WithThousands(row.count()),
                           row.reason());
  }
  table.Add({WithThousands(ledger.received()), WithThousands(ledger.decoded()),
             CountOrBlank(ledger.filtered()), CountOrBlank(dropped), std::string(unit), reasons});
}

void AppendLosses(std::string_view noun, const Sent& sent, std::string& text) {
  if (sent.lost == 0) return;
  text += fmt::format("  {:>12}  datagrams of {} lost (gaps in their sequence numbers)\n",
                      WithThousands(sent.lost), Counted(sent.senders, noun));
}

}  // namespace

void AppendTelemetry(const v1::ReplayReport& report, std::string& text) {
  const v1::Telemetry& telemetry = report.telemetry();
  TextTable table({{"RECEIVED", Align::kRight},
                   {"DECODED", Align::kRight},
                   {"FILTERED", Align::kRight},
                   {"DROPPED", Align::kRight},
                   {"UNIT"},
                   {"REASON"}});
  AddRow("INT reports", telemetry.int_report_ledger(), table);
  AddRow("sFlow datagrams", telemetry.sflow_datagram_ledger(), table);
  AddRow("sFlow samples", telemetry.sflow_sample_ledger(), table);
  AddRow("counter lines", telemetry.counter_line_ledger(), table);
  if (table.empty() && telemetry.int_stack_packets() == 0) return;
  const Sent nodes = SentBy(v1::TelemetrySource::KIND_INT, telemetry);
  const Sent agents = SentBy(v1::TelemetrySource::KIND_SFLOW, telemetry);
  text += fmt::format(
      "TELEMETRY: {} from {}, {} from {}, {}\n\n", Counted(telemetry.hop_records(), "hop record"),
      Counted(nodes.senders, "INT sender"), Counted(telemetry.sampled_packets(), "sampled packet"),
      Counted(agents.senders, "sFlow agent"),
      Counted(telemetry.counter_records(), "counter value"));
  if (!table.empty()) text += table.Deferred(2);
  AppendLosses("INT sender", nodes, text);
  AppendLosses("sFlow agent", agents, text);
  if (telemetry.int_stack_packets() > 0) {
    text += fmt::format("  {:>12}  RoCE packets with embedded INT metadata\n",
                        WithThousands(telemetry.int_stack_packets()));
  }
  text += "\n";
}

}  // namespace rocescope
