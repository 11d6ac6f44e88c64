// SPDX-License-Identifier: BSD-3-Clause
// What is said of a fault, in words: for a report's findings, rivals and symptoms alike.
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

// "since 12:00:04.000 UTC (+4.00 s)", "from ... to ... UTC (+4.00 s, for 2.00 s)": how long after
// the report's zero, if it has one.
std::string WhenText(const v1::ReplayReport& report, int64_t from_ns, int64_t until_ns);

// "a", "a and b", "a, b and 3 others".
std::string ListText(const std::vector<std::string>& names, std::string_view others);

// With its first letter a capital, as at the beginning of a sentence.
std::string Capitalised(std::string sentence);

// What, where, since when, whom it hurts. Jobs are named as the report has them.
std::string SentenceOf(const v1::ReplayReport& report, const v1::Finding& finding);

}  // namespace rocescope
