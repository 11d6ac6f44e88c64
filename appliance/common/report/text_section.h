// SPDX-License-Identifier: BSD-3-Clause
// The sections of the text report, and what they share. Names and notes come from files: they are
// put into tables, or through Visible.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "appliance/common/report/utc_text.h"

namespace rocescope {

namespace v1 {
class Allocation;
class Job;
class ReplayReport;
}  // namespace v1

// A person reads a screen; a program reads JSON, which has them all.
inline constexpr int kMaxRows = 20;

// "and 12 flows more", if there are.
void AppendMore(int total, std::string_view noun, std::string& text);

// "" for 0: columns without content are left out.
std::string CountOrBlank(uint64_t count);

// A process without a rank is called by its name, if that is known.
std::string RankText(int rank, std::string process = "");

// "+1.2 ms": how long after the report's zero. "" where that is not known.
std::string OffsetText(const v1::ReplayReport& report, int64_t ns);

// Microseconds where the analysis looked at windows that are not much longer.
TimeDigits DigitsOf(const v1::ReplayReport& report);

// Faults, or that there are none as far as there was something to look at.
void AppendFindings(const v1::ReplayReport& report, std::string& text);
// How much was seen, and when; or why nothing was.
void AppendSummary(const v1::ReplayReport& report, std::string& text);
void AppendJob(const v1::Job& job, std::string& text);
// "nccl-42 [slurm 4711 \"pretrain\"]".
std::string JobName(const v1::Job& job);
std::string JobName(std::string_view id, const v1::Allocation& allocation);
void AppendTrouble(const v1::ReplayReport& report, std::string& text);
void AppendConnections(const v1::ReplayReport& report, std::string& text);
void AppendFlows(const v1::ReplayReport& report, std::string& text);
void AppendPaths(const v1::ReplayReport& report, std::string& text);     // likewise
void AppendHotspots(const v1::ReplayReport& report, std::string& text);  // likewise
void AppendAnomalies(const v1::ReplayReport& report, std::string& text);
// One row an indicator.
void AppendServiceLevels(const v1::ReplayReport& report, std::string& text);
void AppendCabling(const v1::ReplayReport& report, std::string& text);  // likewise
// Nothing where no clock is off.
void AppendClocks(const v1::ReplayReport& report, std::string& text);
void AppendTelemetry(const v1::ReplayReport& report,
                     std::string& text);  // nothing if there is none
void AppendLedger(const v1::ReplayReport& report, std::string& text);

}  // namespace rocescope
