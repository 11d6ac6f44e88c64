// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/replay_report.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

std::string OffsetText(const v1::ReplayReport& report, int64_t ns) {
  return report.zero_ns() == 0 ? "" : SignedDuration(ns - report.zero_ns());
}

TimeDigits DigitsOf(const v1::ReplayReport& report) {
  constexpr int64_t kShort = 100'000'000;
  const int64_t window = report.diagnosis_coverage().window_ns();
  return window > 0 && window < kShort ? TimeDigits::kMicroseconds : TimeDigits::kMilliseconds;
}

namespace {

void AppendNotes(const v1::ReplayReport& report, std::string& text) {
  if (report.notes_size() > 0) text += "\nNOTES\n\n";
  for (const std::string& note : report.notes())
    text += "  " + Visible(WithShortQuotes(note)) + "\n";
}

}  // namespace

std::string RenderFaultsText(const v1::ReplayReport& report) {
  std::string text;
  AppendFindings(report, text);
  while (text.ends_with("\n\n")) text.pop_back();
  AppendNotes(report, text);
  return VisibleLines(text);
}

std::string RenderText(const v1::ReplayReport& report) {
  std::string text;
  AppendFindings(report, text);
  AppendSummary(report, text);
  for (const v1::Job& job : report.jobs()) AppendJob(job, text);
  AppendPaths(report, text);
  AppendHotspots(report, text);
  AppendAnomalies(report, text);
  AppendServiceLevels(report, text);
  AppendCabling(report, text);
  AppendClocks(report, text);
  const uint64_t telemetry = report.totals().int_frames() + report.totals().sflow_frames();
  if (report.ledger().decoded() > telemetry) {
    AppendTrouble(report, text);
    AppendConnections(report, text);
    AppendFlows(report, text);
  }
  AppendTelemetry(report, text);
  AppendLedger(report, text);
  AppendNotes(report, text);
  return VisibleLines(text);  // whatever the sections may have let through
}

}  // namespace rocescope
