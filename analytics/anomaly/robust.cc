// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/robust.h"

#include <array>
#include <utility>

#include "base/median.h"

namespace rocescope {
namespace {

// Quantiles of the distances, and their values for a normal distribution with standard deviation 1.
constexpr std::array<std::pair<double, double>, 3> kPlaces = {
    {{0.5, 0.6745}, {0.9, 1.6449}, {0.98, 2.3263}}};

// For a single entity with few windows: what occurs in every tenth window is usual.
constexpr double kFar = 0.9;
constexpr float kPlaceOfFar = 1.6449F;

// Distances from 0 of one metric. Most are 0, so that these are only counted.
struct Distances {
  size_t zeros = 0;
  std::vector<float> others;

  void Add(float deviation) {
    if (deviation == 0) {
      ++zeros;
    } else {
      others.push_back(std::abs(deviation));
    }
  }
  size_t size() const { return zeros + others.size(); }
};

double SpreadOfAll(Distances& distances, double least) {
  double spread = least;
  if (distances.size() == 0) return spread;
  auto begin = distances.others.begin();  // all values before it are smaller
  for (const auto& [share, place] : kPlaces) {
    const auto rank = static_cast<size_t>(share * static_cast<double>(distances.size() - 1));
    if (rank < distances.zeros) continue;
    const auto at = distances.others.begin() + static_cast<std::ptrdiff_t>(rank - distances.zeros);
    std::ranges::nth_element(begin, at, distances.others.end());
    spread = std::max(spread, static_cast<double>(*at) / place);
    begin = at;
  }
  return spread;
}

float SpreadOfEach(std::vector<float>& distances, size_t zeros) {
  const auto far = static_cast<size_t>(kFar * static_cast<double>(distances.size()));
  if (far < zeros || distances.empty()) return 0;
  const float spread = static_cast<float>(kDeviationOfMad) * MedianOf(distances);
  const auto at = distances.begin() + static_cast<std::ptrdiff_t>(far);
  std::ranges::nth_element(distances, at);
  return std::max(spread, *at / kPlaceOfFar);
}

}  // namespace

Spreads SpreadsOf(std::span<const std::span<const float>> windows, size_t entities, double least) {
  Spreads spreads;
  spreads.of_each.reserve(entities);
  Distances all;
  std::vector<float> distances;
  for (size_t entity = 0; entity < entities; ++entity) {
    distances.clear();
    const size_t zeros_before = all.zeros;
    for (const std::span<const float> window : windows) {
      const float deviation = window[entity];
      if (std::isnan(deviation)) continue;
      all.Add(deviation);
      distances.push_back(std::abs(deviation));
    }
    spreads.of_each.push_back(SpreadOfEach(distances, all.zeros - zeros_before));
  }
  spreads.of_all = SpreadOfAll(all, least);
  return spreads;
}

}  // namespace rocescope
