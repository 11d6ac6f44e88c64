// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/tap_view.h"

#include <algorithm>
#include <map>

#include "analytics/connection/disjoint_sets.h"

namespace rocescope {
namespace {

struct View {
  uint32_t visible = 0;  // requesters
  std::vector<uint32_t> rows;
};

// Writes the limits of the view's rows to `most`.
void MostObservationsAt(const View& view, const std::vector<MatchRow>& rows, size_t requesters,
                        std::vector<double>& most) {
  const auto responders = static_cast<uint32_t>(view.rows.size());
  DisjointSets groups(responders + requesters);
  std::vector<bool> answered(requesters);
  uint32_t answered_count = 0;
  for (uint32_t i = 0; i < responders; ++i) {
    const MatchRow& row = rows[view.rows[i]];
    const uint64_t least_share = row.ordered ? 4 : 2;
    for (const PartnerClaim& claim : row.claims) {
      if (least_share * claim.hits <= claim.trials) continue;
      groups.Join(i, responders + claim.partner);
      answered_count += !answered[claim.partner];
      answered[claim.partner] = true;
    }
  }
  std::vector<int64_t> surplus(responders + requesters);  // responders minus requesters, by group
  for (uint32_t i = 0; i < responders; ++i) ++surplus[groups.RootOf(i)];
  for (uint32_t i = 0; i < requesters; ++i) surplus[groups.RootOf(responders + i)] -= answered[i];
  // Requests without any response form groups as well.
  uint32_t in_part = view.visible - std::min(view.visible, answered_count);
  uint32_t count = in_part;
  for (uint32_t i = 0; i < responders + requesters; ++i) {
    const bool taken = i < responders || answered[i - responders];
    if (!taken || groups.RootOf(i) != i) continue;
    ++count;
    in_part += surplus[i] != 0;
  }
  constexpr double kPartialCosts = 3;
  const double in_step = std::max(1.0, count - in_part - kPartialCosts * in_part);
  for (uint32_t i = 0; i < responders; ++i) {
    // With known order, each observation of a complete group is independent.
    constexpr double kManyLooks = 1e6;
    const bool told_apart = rows[view.rows[i]].ordered && surplus[groups.RootOf(i)] == 0;
    most[view.rows[i]] = told_apart ? kManyLooks : in_step;
  }
}

}  // namespace

std::vector<double> MostObservations(const std::vector<MatchRow>& responders, size_t requesters) {
  std::map<uint32_t, View> taps;
  for (uint32_t i = 0; i < responders.size(); ++i) {
    if (responders[i].trials == 0) continue;
    View& view = taps[responders[i].tap];
    view.visible = std::max(view.visible, responders[i].visible);
    view.rows.push_back(i);
  }
  std::vector<double> most(responders.size(), 1);
  for (const auto& [tap, view] : taps) {
    MostObservationsAt(view, responders, requesters, most);
  }
  return most;
}

}  // namespace rocescope
