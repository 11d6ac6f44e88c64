// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/fair_rates.h"

#include <algorithm>
#include <limits>

namespace rocescope::sim {

std::vector<double> FairRates(std::span<const FairLink> links, std::span<const double> limits,
                              const std::vector<bool>& active, std::vector<bool>* full) {
  std::vector<double> rates(limits.size(), 0);
  std::vector<bool> is_growing = active;
  std::vector<double> room(links.size());    // capacity left by users that no longer grow
  std::vector<double> growth(links.size());  // sum of the shares of growing users
  std::vector<bool> is_full(links.size(), false);
  std::vector<std::vector<std::pair<uint32_t, double>>> links_of(limits.size());
  for (uint32_t i = 0; i < links.size(); ++i) {
    room[i] = links[i].capacity;
    for (const FairLink::Use& use : links[i].uses) {
      if (!active[use.user] || use.share <= 0) continue;
      growth[i] += use.share;
      links_of[use.user].emplace_back(i, use.share);
    }
  }
  size_t left = static_cast<size_t>(std::count(active.begin(), active.end(), true));
  double level = 0;
  const auto freeze = [&](uint32_t user) {
    is_growing[user] = false;
    --left;
    rates[user] = std::min(level, limits[user]);
    for (const auto& [link, share] : links_of[user]) {
      room[link] -= share * rates[user];
      growth[link] -= share;
    }
  };
  constexpr double kTiny = 1e-9;
  while (left > 0) {
    double next = std::numeric_limits<double>::infinity();
    for (uint32_t i = 0; i < links.size(); ++i) {
      if (growth[i] > kTiny) next = std::min(next, std::max(0.0, room[i]) / growth[i]);
    }
    for (uint32_t user = 0; user < limits.size(); ++user) {
      if (is_growing[user]) next = std::min(next, limits[user]);
    }
    level = std::max(level, next);
    const size_t before = left;
    for (uint32_t user = 0; user < limits.size(); ++user) {
      if (is_growing[user] && limits[user] <= level * (1 + kTiny)) freeze(user);
    }
    for (uint32_t i = 0; i < links.size(); ++i) {
      if (growth[i] <= kTiny || room[i] > growth[i] * level * (1 + kTiny)) continue;
      is_full[i] = true;
      for (const FairLink::Use& use : links[i].uses) {
        if (is_growing[use.user] && use.share > 0) freeze(use.user);
      }
    }
    if (left == before) break;  // rounding: nothing can be full
  }
  if (full != nullptr) *full = std::move(is_full);
  return rates;
}

}  // namespace rocescope::sim
