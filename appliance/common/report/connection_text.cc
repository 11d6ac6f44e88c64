// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string EndpointText(const v1::Endpoint& endpoint) {
  std::string text = endpoint.address();
  if (endpoint.has_vni()) text += fmt::format("%{}", endpoint.vni());
  text += endpoint.has_qpn() ? fmt::format(" qp {}", endpoint.qpn()) : std::string(" qp ?");
  return text;
}

std::optional<int> RankOf(const v1::Endpoint& endpoint) {
  return endpoint.has_rank() ? std::optional(endpoint.rank()) : std::nullopt;
}

std::string ProcessText(const v1::Endpoint& endpoint) {
  if (endpoint.host().empty()) return "";
  return fmt::format("{}:{}", endpoint.host(), endpoint.process_id());
}

std::string WhyThereAreNone(const v1::ReplayReport& report) {
  const bool all_datagrams = std::all_of(
      report.flows().begin(), report.flows().end(),
      [](const v1::Flow& flow) { return flow.operations().datagram() == flow.packets(); });
  if (report.flows().empty() || !all_datagrams) return "no peer found";
  return "not applicable: UD queue pairs have no peer; see FLOWS";
}

// Joins the evidence of both directions: "psn_echo A>B 2/2, B>A 1/1".
std::string EvidenceText(const v1::Connection& connection) {
  std::string text;
  v1::Evidence::Kind last = v1::Evidence::KIND_UNSPECIFIED;
  for (const v1::Evidence& e : connection.evidence()) {
    if (!text.empty()) text += ", ";
    if (e.kind() != last) text += WordOf(e.kind()) + " ";
    last = e.kind();
    if (e.direction() == v1::Evidence::DIRECTION_A_TO_B) text += "A>B ";
    if (e.direction() == v1::Evidence::DIRECTION_B_TO_A) text += "B>A ";
    text += e.checked_count() > 0 ? fmt::format("{}/{}", e.count(), e.checked_count())
                                  : std::to_string(e.count());
  }
  return text;
}

std::string BecauseText(const v1::Connection& connection) {
  switch (connection.state()) {
    case v1::Connection::STATE_AMBIGUOUS:
      if (connection.candidates().empty()) return "";
      return fmt::format(
          "{} ({}{})",
          Counted(static_cast<uint64_t>(connection.candidates_size()), "possible queue pair"),
          ConfidenceText(connection.candidates(0).probability()),
          connection.candidates_size() > 1 ? " most likely" : "");
    case v1::Connection::STATE_ONE_SIDED:
      return "no evidence of the peer";
    default:
      return EvidenceText(connection);
  }
}

}  // namespace

void AppendConnections(const v1::ReplayReport& report, std::string& text) {
  const v1::Totals& totals = report.totals();
  if (report.connections_size() == 0) {
    text += "CONNECTIONS: " + WhyThereAreNone(report) + "\n\n";
    return;
  }
  const bool all_unreliable = std::all_of(
      report.connections().begin(), report.connections().end(),
      [](const v1::Connection& c) { return c.transport() == v1::Connection::TRANSPORT_UC; });
  if (all_unreliable &&
      totals.paired_connection_count() + totals.ambiguous_connection_count() == 0) {
    text +=
        "CONNECTIONS: none can be paired: unreliable connections (UC) have no acknowledgements to "
        "identify the peer\n"
        "\n";
  } else {
    text += fmt::format(
        "CONNECTIONS: {} paired, {} ambiguous, {} with one side unknown\n"
        "\n"
        "  EVIDENCE: reth_echo n is the number of WRITEs to a buffer that the peer advertised.\n"
        "  psn_echo n/m: n of m responses repeat the PSN of a request of the peer.\n"
        "\n",
        WithThousands(totals.paired_connection_count()),
        WithThousands(totals.ambiguous_connection_count()),
        WithThousands(totals.one_sided_connection_count()));
  }
  TextTable table({{"A"},
                   {"RANK", Align::kRight},
                   {"B"},
                   {"RANK", Align::kRight},
                   {"A->B DATA BYTES", Align::kRight},
                   {"B->A DATA BYTES", Align::kRight},
                   {"CONFIDENCE", Align::kRight},
                   {"EVIDENCE"}});
  for (int i = 0; i < std::min(report.connections_size(), kMaxRows); ++i) {
    const v1::Connection& c = report.connections(i);
    table.Add({EndpointText(c.a()), RankText(RankOf(c.a()), ProcessText(c.a())),
               EndpointText(c.b()), RankText(RankOf(c.b()), ProcessText(c.b())),
               WithThousands(c.a_to_b().data_bytes()), WithThousands(c.b_to_a().data_bytes()),
               c.state() == v1::Connection::STATE_PAIRED ? ConfidenceText(c.confidence()) : "-",
               BecauseText(c)});
  }
  if (!table.empty()) text += table.Deferred(2);
  AppendMore(report.connections_size(), "connection", text);
  text += "\n";
}

}  // namespace rocescope
