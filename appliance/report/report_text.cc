// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/replay_report.h"
#include "appliance/report/text_section.h"
#include "appliance/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {

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
  if (report.notes_size() > 0) text += "\nNOTES\n\n";
  for (const std::string& note : report.notes()) text += "  " + Visible(note) + "\n";
  return VisibleLines(text);  // whatever the sections may have let through
}

}  // namespace rocescope
