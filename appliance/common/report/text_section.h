// SPDX-License-Identifier: BSD-3-Clause
// The sections of the text report and their common helpers. Names and notes come from input files:
// print them in tables or through Visible.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "appliance/common/report/utc_text.h"

namespace rocescope {

namespace v1 {
class Allocation;
class Job;
class ReplayReport;
}  // namespace v1

// Maximum number of table rows in the text report; JSON contains all rows.
inline constexpr int kMaxRows = 20;

// Appends "and 12 more flows" if `total` exceeds kMaxRows.
void AppendMore(int total, std::string_view noun, std::string& text);

// Returns "" for 0; columns without content are omitted.
std::string CountOrBlank(uint64_t count);

// Returns the rank or, if there is none, the name of the process if it is known.
std::string RankText(std::optional<int> rank, std::string process = "");

// Returns the time since the report's reference_time ("+1.2 ms"), or "" if it is not set.
std::string OffsetText(const v1::ReplayReport& report, int64_t ns);

// Returns microseconds if the analysis window is short.
TimeDigits DigitsOf(const v1::ReplayReport& report);

// Returns "nccl-42 [slurm 4711 \"pretrain\"]".
std::string JobName(const v1::Job& job);
std::string JobName(std::string_view id, const v1::Allocation& allocation);

// The sections of the report. A section without data appends nothing, except faults, summary and
// ledger.
void AppendFindings(const v1::ReplayReport& report, std::string& text);
void AppendSummary(const v1::ReplayReport& report, std::string& text);
void AppendJobs(const v1::ReplayReport& report, std::string& text);
void AppendPaths(const v1::ReplayReport& report, std::string& text);
void AppendHotspots(const v1::ReplayReport& report, std::string& text);
void AppendAnomalies(const v1::ReplayReport& report, std::string& text);
void AppendServiceLevels(const v1::ReplayReport& report, std::string& text);
void AppendCabling(const v1::ReplayReport& report, std::string& text);
void AppendClocks(const v1::ReplayReport& report, std::string& text);
void AppendTrouble(const v1::ReplayReport& report, std::string& text);
void AppendConnections(const v1::ReplayReport& report, std::string& text);
void AppendFlows(const v1::ReplayReport& report, std::string& text);
void AppendTelemetry(const v1::ReplayReport& report, std::string& text);
void AppendLedger(const v1::ReplayReport& report, std::string& text);
void AppendNotes(const v1::ReplayReport& report, std::string& text);

// Short forms for the default report.
void AppendBriefFindings(const v1::ReplayReport& report, std::string& text);
void AppendBriefHotspots(const v1::ReplayReport& report, std::string& text);
void AppendBriefAnomalies(const v1::ReplayReport& report, std::string& text);
void AppendBriefJobs(const v1::ReplayReport& report, std::string& text);
void AppendBriefTrouble(const v1::ReplayReport& report, std::string& text);
void AppendBriefLedger(const v1::ReplayReport& report, std::string& text);
void AppendBriefNotes(const v1::ReplayReport& report, std::string& text);

}  // namespace rocescope
