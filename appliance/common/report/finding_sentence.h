// SPDX-License-Identifier: BSD-3-Clause
// Sentences about faults, for a report's findings, alternatives and related findings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rocescope {

namespace v1 {
class Finding;
class ReplayReport;
}  // namespace v1

// "leaf0: switch down, with all of its links". For one direction of a link, "link from leaf0:E1 to
// spine0:E2: ...". `kind` is a name in topology/fault/fault_kind.h; `place` and `direction` are
// those of v1::Finding. An unknown kind is written by its name.
std::string FaultText(std::string_view kind, std::string_view place, std::string_view direction);

// Returns "since 12:00:04.000 UTC (+4.00 s)" or "from ... to ... UTC (+4.00 s, for 2.00 s)". The
// offset is relative to the report's reference_time, if it is set.
std::string WhenText(const v1::ReplayReport& report, int64_t from_ns, int64_t until_ns);

// Returns "a", "a and b", or "a, b and 3 others".
std::string ListText(const std::vector<std::string>& names, std::string_view others);

// Returns the sentence with its first letter in upper case.
std::string Capitalised(std::string sentence);

// States the fault, its place, its time (unless start_time is unset) and the affected jobs. Jobs
// are named as in the report. If no path of a flow is known, the affected jobs are not known
// either; the sentence then names the jobs in `dependent_job_ids`, which have ranks at the place.
std::string SentenceOf(const v1::ReplayReport& report, const v1::Finding& finding,
                       const std::vector<std::string>& dependent_job_ids = {});

}  // namespace rocescope
