// SPDX-License-Identifier: BSD-3-Clause
// How much PSN echo can say where queue pairs count from 0, as NCCL's do. Stripes then run in lock
// step: responses repeat the PSNs of any of them, and looking again shows the same once more. If
// the tap sees one stripe's requests and another's responses, as a spine switch does when ECMP
// spreads them, the two look like partners for ever.
//
// What speaks against that is the tap's view as a whole. Flows that are in step form a group; a
// tap that sees requests and responses of a group in equal numbers sees it whole. If the tap saw
// each flow with probability 1/2, a group of two would look whole 4 times in 9, larger ones less
// often: a whole group doubles the odds that the tap sees both directions of all, and so counts as
// one observation. In such a view 1 group in 16 may still look otherwise (sampling, an idle flow),
// which halves the odds three times.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/connection/matching.h"

namespace rocescope {

// Of each row of `responders`: the most that its PSN echo is worth. 1 where nothing else is seen: a
// lone pair is as likely a stranger as not.
std::vector<double> MostObservations(const std::vector<MatchRow>& responders, size_t requesters);

}  // namespace rocescope
