// SPDX-License-Identifier: BSD-3-Clause
// Limits the value of PSN echo where PSNs start at 0, as with NCCL. Stripes then run in lock step:
// a response's PSN matches all of them, and further observations add no information. A tap that
// sees one stripe's requests and another's responses, such as a spine switch under ECMP, would
// always consider the two as partners.
//
// The view of the tap as a whole counters this. Flows in lock step form a group. If the tap
// observes equal numbers of requests and responses of a group, its view of the group is complete.
// If the tap saw each flow with probability 1/2, a group of two connections would look complete
// although two of its four flows are missing, in 4 of the 9 cases with requests and responses.
// Larger groups would look complete less often. Each complete group therefore doubles the odds that
// the tap sees both directions of all flows, and is counted as one observation. A tap that sees all
// flows may show 1 of 16 groups as incomplete (sampling, an idle flow); a tap that sees each flow
// with probability 1/2 shows about half of the groups as incomplete. Each incomplete group
// therefore divides the odds by 8.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/matching.h"

namespace rocescope {

// Returns the upper limit of independent observations from PSN echo for each row of `responders`.
// The limit is 1 without other evidence: a lone pair may equally well be two unrelated flows.
std::vector<double> MostObservations(const std::vector<MatchRow>& responders, size_t requesters);

}  // namespace rocescope
