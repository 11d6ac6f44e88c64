// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "appliance/api/message_value.h"
#include "appliance/common/report/replay_report.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

std::string OffsetText(const v1::ReplayReport& report, int64_t ns) {
  return !report.has_reference_time() ? ""
                                      : SignedDuration(ns - Nanoseconds(report.reference_time()));
}

TimeDigits DigitsOf(const v1::ReplayReport& report) {
  constexpr int64_t kShort = 100'000'000;
  const int64_t window = Nanoseconds(report.diagnosis_coverage().window_duration());
  return window > 0 && window < kShort ? TimeDigits::kMicroseconds : TimeDigits::kMilliseconds;
}

namespace {

using Append = void (*)(const v1::ReplayReport& report, std::string& text);

bool HasRoce(const v1::ReplayReport& report) {
  const uint64_t telemetry = report.totals().int_frames() + report.totals().sflow_frames();
  return report.ledger().decoded() > telemetry;
}

// Sections about packets, which a capture of telemetry does not have.
template <Append append>
void IfRoce(const v1::ReplayReport& report, std::string& text) {
  if (HasRoce(report)) append(report, text);
}

struct Section {
  std::string_view name;  // name for --section
  Append append;
  Append append_brief;  // in the default report; null: omitted
};

// Problems first, then jobs, then inventories. The summary explains the times of all sections.
constexpr std::array<Section, 15> kSections = {{
    {"faults", AppendFindings, AppendBriefFindings},
    {"summary", AppendSummary, AppendSummary},
    {"hotspots", AppendHotspots, AppendBriefHotspots},
    {"anomalies", AppendAnomalies, AppendBriefAnomalies},
    {"loss", IfRoce<AppendTrouble>, IfRoce<AppendBriefTrouble>},
    {"cabling", AppendCabling, nullptr},
    {"jobs", AppendJobs, AppendBriefJobs},
    {"service-levels", AppendServiceLevels, nullptr},
    {"paths", AppendPaths, nullptr},
    {"connections", IfRoce<AppendConnections>, nullptr},
    {"flows", IfRoce<AppendFlows>, nullptr},
    {"telemetry", AppendTelemetry, nullptr},
    {"clocks", AppendClocks, nullptr},
    {"ledger", AppendLedger, AppendBriefLedger},
    {"notes", AppendNotes, AppendBriefNotes},
}};

void AppendFirstNotes(const v1::ReplayReport& report, int most, std::string& text) {
  for (int i = 0; i < std::min(report.notes_size(), most); ++i) {
    text += "  " + Visible(WithShortQuotes(report.notes(i))) + "\n";
  }
  if (report.notes_size() > most) {
    text += fmt::format("  and {} more\n",
                        Counted(static_cast<uint64_t>(report.notes_size() - most), "note"));
  }
}

}  // namespace

void AppendNotes(const v1::ReplayReport& report, std::string& text) {
  if (report.notes_size() == 0) return;
  while (text.ends_with("\n\n")) text.pop_back();
  text += text.empty() ? "NOTES\n\n" : "\nNOTES\n\n";
  AppendFirstNotes(report, std::numeric_limits<int>::max(), text);
}

void AppendBriefNotes(const v1::ReplayReport& report, std::string& text) {
  constexpr int kMaxNotes = 3;
  if (report.notes_size() == 0) return;
  text += "NOTES\n";
  AppendFirstNotes(report, kMaxNotes, text);
}

std::vector<std::string_view> SectionNames() {
  std::vector<std::string_view> names;
  for (const Section& section : kSections) names.push_back(section.name);
  return names;
}

std::string RenderFaultsText(const v1::ReplayReport& report, size_t width) {
  std::string text;
  AppendFindings(report, text);
  while (text.ends_with("\n\n")) text.pop_back();
  AppendNotes(report, text);
  return VisibleLines(FitText(text, width));
}

std::string RenderText(const v1::ReplayReport& report, size_t width) {
  std::string text;
  for (const Section& section : kSections) section.append(report, text);
  return VisibleLines(FitText(text, width));  // escapes what a section may have missed
}

std::string RenderSections(const v1::ReplayReport& report, std::span<const std::string> names,
                           size_t width) {
  std::string text;
  for (const Section& section : kSections) {
    if (std::ranges::find(names, section.name) != names.end()) section.append(report, text);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  return VisibleLines(FitText(text, width));
}

std::string RenderBriefText(const v1::ReplayReport& report, size_t width) {
  std::string text;
  for (const Section& section : kSections) {
    if (section.append_brief != nullptr) section.append_brief(report, text);
  }
  while (text.ends_with("\n\n")) text.pop_back();
  text +=
      "\nUse --details for the complete report, --section NAME for one section, -o json for all "
      "data.\n";
  return VisibleLines(FitText(text, width));
}

}  // namespace rocescope
