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

}  // namespace

void SpreadSum::Add(std::span<const float> deviations) {
  for (size_t i = 0; i < deviations.size(); ++i) {
    if (!std::isnan(deviations[i])) distances_[i].push_back(std::abs(deviations[i]));
  }
}

std::vector<double> SpreadSum::OfAll(double least) const {
  std::vector<double> spreads(width_, least);
  std::vector<float> all;
  for (size_t metric = 0; metric < width_; ++metric) {
    all.clear();
    for (size_t at = metric; at < distances_.size(); at += width_) {
      all.insert(all.end(), distances_[at].begin(), distances_[at].end());
    }
    if (all.empty()) continue;
    for (const auto& [share, place] : kPlaces) {
      const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size() - 1));
      std::ranges::nth_element(all, all.begin() + at);
      spreads[metric] = std::max(spreads[metric], static_cast<double>(all[at]) / place);
    }
  }
  return spreads;
}

std::vector<float> SpreadSum::OfEach() const {
  std::vector<float> spreads(distances_.size());
  for (size_t i = 0; i < distances_.size(); ++i) {
    std::vector<float> distances = distances_[i];
    if (distances.empty()) continue;
    spreads[i] = static_cast<float>(kDeviationOfMad) * MedianOf(distances);
    const auto at = static_cast<std::ptrdiff_t>(kFar * static_cast<double>(distances.size()));
    std::ranges::nth_element(distances, distances.begin() + at);
    spreads[i] = std::max(spreads[i], distances[static_cast<size_t>(at)] / kPlaceOfFar);
  }
  return spreads;
}

}  // namespace rocescope
