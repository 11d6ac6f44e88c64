// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <string>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using v1::CableFinding;

std::string_view WordOf(CableFinding::Kind kind) {
  switch (kind) {
    case CableFinding::KIND_SWAPPED:
      return "swapped";
    case CableFinding::KIND_MISSING:
      return "missing";
    case CableFinding::KIND_UNEXPECTED:
      return "unexpected";
    default:
      return "disagrees";
  }
}

template <typename Names>
std::string Joined(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Describes the ports to inspect.
std::string PlaceOf(const CableFinding& finding) {
  if (finding.kind() == CableFinding::KIND_UNEXPECTED) {
    return finding.place() + " has no link in the topology";
  }
  std::string text;
  for (const v1::Cable& cable : finding.actual_cables()) {
    text += fmt::format("{}{} is connected to {}, not to {}", text.empty() ? "" : "; ", cable.a(),
                        cable.b(), cable.b_declared());
  }
  if (!text.empty()) return text;
  std::string declared = Joined(finding.declared_links());
  if (!finding.sender().empty()) {
    return fmt::format("{} receives what {} sends, not {}", finding.receiver(), finding.sender(),
                       declared);
  }
  return declared;
}

std::string SeenOf(const CableFinding& finding) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  const bool unexpected = finding.kind() == CableFinding::KIND_UNEXPECTED;
  if (finding.kind() == CableFinding::KIND_MISSING) {
    return finding.reading_count() > 0 ? "down and idle at both ends"
                                       : "no traffic counted at either switch";
  }
  if (finding.state_differs()) add("up at one end, down at the other");
  if (finding.packets() > 0) add(Counted(finding.packets(), "packet"));
  if (finding.unexplained_flow_count() > 0) {
    add(Counted(finding.unexplained_flow_count(), "flow") +
        (finding.agreeing_flow_count() > 0
             ? fmt::format(", {} as declared", WithThousands(finding.agreeing_flow_count()))
             : std::string()));
  }
  if (finding.excess_bytes() > 0) {
    add(HumanBytes(finding.excess_bytes()) +
        (unexpected ? " received" : " received but not sent by the declared peers"));
  }
  return text;
}

}  // namespace

void AppendCabling(const v1::ReplayReport& report, std::string& text) {
  const v1::Cabling& cabling = report.cabling();
  if (cabling.link_count() == 0) return;
  text += fmt::format("CABLING: {} of {} confirmed to match the topology",
                      WithThousands(cabling.confirmed_link_count()),
                      Counted(cabling.link_count(), "link"));
  if (cabling.contradicted_link_count() > 0) {
    text += fmt::format(", {} contradicted", WithThousands(cabling.contradicted_link_count()));
  }
  text += "\n\n";
  if (cabling.findings().empty()) return;
  TextTable table({{"WHAT"}, {"PORTS"}, {"OBSERVED"}, {"SINCE", Align::kRight}, {"CONFIDENCE"}});
  int rows = 0;
  for (const CableFinding& finding : cabling.findings()) {
    if (rows++ == kMaxRows) break;
    table.Add({std::string(WordOf(finding.kind())), PlaceOf(finding), SeenOf(finding),
               !finding.has_first_seen_time()
                   ? ""
                   : OffsetText(report, Nanoseconds(finding.first_seen_time())),
               ConfidenceText(finding.confidence())});
  }
  text += table.Deferred(2);
  AppendMore(cabling.findings_size(), "finding", text);
  text += "\n";
}

}  // namespace rocescope
