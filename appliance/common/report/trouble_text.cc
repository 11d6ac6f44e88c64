// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <string_view>

#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

uint64_t NaksOf(const v1::Flow& flow) {
  const v1::Naks& naks = flow.naks();
  return naks.receiver_not_ready() + naks.sequence_error() + naks.invalid_request() +
         naks.remote_access() + naks.remote_operation() + naks.other();
}

// Returns the flow if only one is affected (": 10.0.0.12 > 10.0.0.13 qp 38"), or the number of
// flows.
template <typename CountOf>
std::string PlaceOf(const v1::ReplayReport& report, CountOf count_of) {
  const v1::Flow* place = nullptr;
  uint64_t flows = 0;
  for (const v1::Flow& flow : report.flows()) {
    if (count_of(flow) == 0) continue;
    place = &flow;
    ++flows;
  }
  if (flows == 0) return "";  // that flow was evicted from a full table
  if (flows > 1) return fmt::format(", on {} flows", WithThousands(flows));
  return fmt::format(": {} > {} qp {}", Visible(place->source()), Visible(place->destination()),
                     place->destination_qpn());
}

}  // namespace

void AppendTrouble(const v1::ReplayReport& report, std::string& text) {
  const v1::Totals& totals = report.totals();
  text += "LOSS AND CONGESTION\n\n";
  const size_t before = text.size();
  const auto line = [&text](uint64_t count, std::string_view noun, std::string_view what,
                            const std::string& place) {
    if (count == 0) return;
    text += fmt::format("  {:>12}  {}{}{}{}\n", WithThousands(count), noun, count == 1 ? "" : "s",
                        what, place);
  };
  const auto on_flows = [&](uint64_t count, std::string_view noun, std::string_view what,
                            auto count_of) {
    line(count, noun, what, count == 0 ? std::string() : PlaceOf(report, count_of));
  };
  on_flows(totals.missing_packets(), "packet",
           " missing (PSN gaps: lost in the fabric, or not captured)",
           [](const v1::Flow& flow) { return flow.loss().missing_packets(); });
  on_flows(totals.retransmitted_packets(), "packet", " retransmitted",
           [](const v1::Flow& flow) { return flow.loss().retransmitted_packets(); });
  on_flows(totals.nak_packets(), "NAK", "", NaksOf);
  on_flows(totals.reordered_packets(), "packet",
           " out of order (reordered, or lost before the tap and retransmitted)",
           [](const v1::Flow& flow) { return flow.loss().reordered_packets(); });
  on_flows(totals.ce_marked_packets(), "packet", " CE-marked",
           [](const v1::Flow& flow) { return flow.ce_marked_packets(); });
  on_flows(totals.cnp_packets(), "CNP", " (congestion notification)",
           [](const v1::Flow& flow) { return flow.operations().cnp(); });
  line(totals.pause_frames(), "PAUSE or PFC frame", "", "");
  line(totals.icrc_invalid_frames(), "packet", " with an invalid iCRC", "");
  if (text.size() == before) {
    text += "  none: no PSN gaps, retransmissions, NAKs, CE marks, CNPs or PAUSE frames\n";
  }
  text += "\n";
}

void AppendBriefTrouble(const v1::ReplayReport& report, std::string& text) {
  const v1::Totals& totals = report.totals();
  std::string counts;
  const auto add = [&counts](uint64_t count, std::string_view what) {
    if (count == 0) return;
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", WithThousands(count), what);
  };
  add(totals.missing_packets(), "not seen (lost, or not captured)");
  add(totals.retransmitted_packets(), "retransmitted");
  add(totals.nak_packets(), "NAK");
  add(totals.reordered_packets(), "out of order");
  add(totals.ce_marked_packets(), "CE-marked");
  add(totals.cnp_packets(), "CNP");
  add(totals.pause_frames(), "PAUSE");
  add(totals.icrc_invalid_frames(), "invalid iCRC");
  text += fmt::format("LOSS AND CONGESTION (packets): {}\n\n", counts.empty() ? "none" : counts);
}

}  // namespace rocescope
