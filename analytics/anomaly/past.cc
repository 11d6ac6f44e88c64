// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/past.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytics/anomaly/robust.h"
#include "base/median.h"

namespace rocescope {
namespace {

constexpr float kMissingValue = std::numeric_limits<float>::quiet_NaN();

double MiddleOf(std::array<double, kAnomalyModels> values) {
  std::ranges::sort(values);
  return values[kAnomalyModels / 2];
}

// Selects an even sample of `most` out of `all` rows without a pattern (Steele and others, "Fast
// splittable pseudorandom number generators", OOPSLA 2014: the mixer of SplitMix64).
bool IsChosen(uint64_t number, uint64_t all, uint64_t most) {
  if (all <= most) return true;
  uint64_t mixed = number + 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return mixed % all < most;
}

// Removes the rows of unknown places.
void RemoveUnknown(const auto& places, Rows& rows) {
  auto end = rows.values.begin();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (places[i].is_known) end = std::ranges::copy(rows[i], end).out;
  }
  rows.values.erase(end, rows.values.end());
}

}  // namespace

double Oddness::Probability() const {
  std::array<double, kAnomalyModels> both;
  for (size_t i = 0; i < kAnomalyModels; ++i) both[i] = OfModel(i);
  return MiddleOf(both);
}

double Oddness::OwnProbability() const { return MiddleOf(by_own); }

Past::Past(const Panel& panel, std::span<const size_t> part, std::span<const size_t> others,
           const PastOptions& options)
    : options_(options), entities_(panel.entities.size()), width_(panel.metrics.size()) {
  if (entities_ == 0 || width_ == 0) return;
  has_peers_ = entities_ >= options_.fewest_peers;
  middle_.assign(width_ * entities_, kMissingValue);
  for (View* const view : {&own_, &peers_}) {
    view->spread.assign(width_, options_.least_spread);
    view->own.assign(width_ * entities_, 0);
  }
  std::vector<size_t> windows(part.begin(), part.end());
  windows.insert(windows.end(), others.begin(), others.end());
  std::vector<Place> places = ChoosePlaces(windows, part.size());
  RowPair rows = RowsOf(places.size());
  // One metric after the other, because the deviations of one metric fit into a cache.
  std::vector<Deviations> all(windows.size());
  for (Deviations& one : all) one.own.resize(entities_);
  for (size_t metric = 0; metric < width_; ++metric) {
    const bool deviates = Compare(panel, metric, windows, part.size(), all);
    for (Place& place : places) {
      place.is_known |= !std::isnan(all[place.window].own[place.entity]);
    }
    if (!deviates) continue;  // most counters never change
    FindSpreads(metric, all);
    for (size_t i = 0; i < places.size(); ++i) {
      FillRow(all[places[i].window], metric, places[i].entity, i, rows);
    }
  }
  RemoveUnknown(places, rows.own);
  RemoveUnknown(places, rows.peers);
  const auto fitted = static_cast<size_t>(std::ranges::count_if(
      places, [](const Place& place) { return place.is_fitted && place.is_known; }));
  if (fitted < options_.fewest_rows) return;
  fitted_ = Fit(own_, rows.own, fitted) && (!has_peers_ || Fit(peers_, rows.peers, fitted));
}

std::vector<Past::Place> Past::ChoosePlaces(std::span<const size_t> windows, size_t part) const {
  std::vector<Place> places;
  for (size_t i = 0; i < windows.size(); ++i) {
    for (size_t entity = 0; entity < entities_; ++entity) {
      const size_t number = windows[i] * entities_ + entity;
      if (!IsChosen(number, part * entities_, options_.most_rows)) continue;
      places.push_back({.window = i, .entity = entity, .is_fitted = i < part});
    }
  }
  return places;
}

// The first `part` windows define the usual values. The others also show how far windows deviate
// from them.
bool Past::Compare(const Panel& panel, size_t metric, std::span<const size_t> windows, size_t part,
                   std::span<Deviations> all) {
  bool deviates = false;
  std::vector<NumberedValue> values;
  for (size_t entity = 0; entity < entities_; ++entity) {
    const auto set = [&](size_t window, float deviation) {
      all[window].own[entity] = deviation;
      deviates |= std::abs(deviation) > 0;
    };
    const std::span<const float> read = panel.Of(metric, entity);
    values.clear();
    for (size_t i = 0; i < part; ++i) {
      all[i].own[entity] = kMissingValue;
      if (!std::isnan(read[windows[i]])) values.push_back({read[windows[i]], i});
    }
    float& middle = middle_[metric * entities_ + entity];
    if (values.size() >= options_.fewest_windows) middle = FillLeaveOneOut(values, set);
    for (size_t i = part; i < windows.size(); ++i) set(i, read[windows[i]] - middle);
  }
  for (Deviations& one : all) CompareWithPeers(one);
  return deviates;
}

void Past::CompareWithPeers(Deviations& deviations) const {
  deviations.shift = deviations.disunity = 0;
  if (!has_peers_) return;
  deviations.peers = deviations.own;
  std::vector<float> values;
  values.reserve(entities_);
  size_t zeros = 0;
  for (const float one : deviations.own) {
    if (std::isnan(one)) continue;
    values.push_back(one);
    if (one == 0) ++zeros;
  }
  if (values.size() < options_.fewest_peers) return;
  if (2 * zeros > values.size()) return;  // both medians are 0
  const float shift = MedianOf(values);
  deviations.shift = shift;
  for (float& one : values) one = std::abs(one - shift);
  deviations.disunity = kDeviationOfMad * MedianOf(values);
  for (float& one : deviations.peers) one -= shift;
}

void Past::FindSpreads(size_t metric, std::span<const Deviations> all) {
  std::vector<std::span<const float>> windows(all.size());
  std::ranges::transform(all, windows.begin(), &Deviations::own);
  SetSpread(metric, windows, own_);
  if (!has_peers_) return;
  std::ranges::transform(all, windows.begin(), &Deviations::peers);
  SetSpread(metric, windows, peers_);
}

void Past::SetSpread(size_t metric, std::span<const std::span<const float>> windows,
                     View& view) const {
  const Spreads spreads = SpreadsOf(windows, entities_, options_.least_spread);
  view.spread[metric] = spreads.of_all;
  std::ranges::copy(spreads.of_each,
                    view.own.begin() + static_cast<std::ptrdiff_t>(metric * entities_));
}

double Past::Scaled(const View& view, size_t metric, size_t entity, float deviation,
                    double disunity) const {
  if (std::isnan(deviation)) return 0;
  const auto own = static_cast<double>(view.own[metric * entities_ + entity]);
  return static_cast<double>(deviation) / std::max({view.spread[metric], own, disunity});
}

Past::RowPair Past::RowsOf(size_t count) const {
  const Rows rows = {.width = width_, .values = std::vector<double>(count * width_)};
  return {.own = rows, .peers = has_peers_ ? rows : Rows{.width = width_}};
}

void Past::FillRow(const Deviations& deviations, size_t metric, size_t entity, size_t row,
                   RowPair& rows) const {
  const size_t at = row * width_ + metric;
  rows.own.values[at] = Scaled(own_, metric, entity, deviations.own[entity], 0);
  if (!has_peers_) return;
  rows.peers.values[at] =
      Scaled(peers_, metric, entity, deviations.peers[entity], deviations.disunity);
}

bool Past::Fit(View& view, const Rows& seen, size_t fitted) const {
  const auto end = seen.values.begin() + static_cast<std::ptrdiff_t>(fitted * width_);
  const Rows rows = {.width = width_, .values = {seen.values.begin(), end}};
  for (size_t i = 0; i < kAnomalyModels; ++i) {
    view.models[i] = MakeModel(static_cast<AnomalyModelKind>(i));
    if (!view.models[i]->Fit(rows)) return false;
    std::vector<double> scores(seen.size());
    for (size_t row = 0; row < seen.size(); ++row) scores[row] = view.models[i]->Score(seen[row]);
    view.tails[i] = Tail(std::move(scores));
  }
  return true;
}

Past::Deviations Past::DeviationsIn(const Panel& window, size_t metric) const {
  Deviations deviations;
  deviations.own.reserve(entities_);
  for (size_t at = metric * entities_; at < (metric + 1) * entities_; ++at) {
    deviations.own.push_back(window.values[at] - middle_[at]);
  }
  CompareWithPeers(deviations);
  return deviations;
}

std::vector<Oddness> Past::Judge(const Panel& window) const {
  std::vector<Oddness> all(entities_);
  if (!fitted_) return all;
  RowPair rows = RowsOf(entities_);
  for (size_t metric = 0; metric < width_; ++metric) {
    const Deviations deviations = DeviationsIn(window, metric);
    for (size_t entity = 0; entity < entities_; ++entity) {
      all[entity].judged |= !std::isnan(deviations.own[entity]);
      FillRow(deviations, metric, entity, entity, rows);
    }
  }
  const auto probability = [](const View& view, size_t model, std::span<const double> row) {
    return view.tails[model].Probability(view.models[model]->Score(row));
  };
  for (size_t entity = 0; entity < entities_; ++entity) {
    Oddness& oddness = all[entity];
    if (!oddness.judged) continue;
    for (size_t i = 0; i < kAnomalyModels; ++i) {
      oddness.by_own[i] = probability(own_, i, rows.own[entity]);
      if (has_peers_) oddness.by_peers[i] = probability(peers_, i, rows.peers[entity]);
    }
  }
  return all;
}

std::vector<MetricDeviation> Past::Explain(const Panel& window, size_t entity,
                                           Duration width) const {
  const View& view = has_peers_ ? peers_ : own_;
  std::vector<float> seen(width_);
  std::vector<double> row(width_), shift(width_);
  for (size_t i = 0; i < width_; ++i) {
    const Deviations deviations = DeviationsIn(window, i);
    seen[i] = (has_peers_ ? deviations.peers : deviations.own)[entity];
    row[i] = Scaled(view, i, entity, seen[i], deviations.disunity);
    shift[i] = deviations.shift;
  }
  std::vector<double> shares(width_);
  for (const auto& model : view.models) {
    const std::vector<double> parts = model->Shares(row);
    for (size_t i = 0; i < width_; ++i) shares[i] += parts[i] / kAnomalyModels;
  }
  std::vector<MetricDeviation> metrics;
  for (size_t i = 0; i < width_; ++i) {
    if (std::isnan(seen[i]) || shares[i] == 0) continue;
    const Metric metric = window.metrics[i];
    const double expected = middle_[i * entities_ + entity] + shift[i];
    const double usual = row[i] == 0 ? view.spread[i] : std::abs(seen[i] / row[i]);
    const double value = window.values[i * entities_ + entity];
    metrics.push_back({.metric = metric,
                       .share = shares[i],
                       .observed = Unstretched(metric, width, value),
                       .expected = Unstretched(metric, width, expected),
                       .spread = Unstretched(metric, width, expected + usual) -
                                 Unstretched(metric, width, expected)});
  }
  std::ranges::sort(metrics, {},
                    [](const MetricDeviation& one) { return std::pair(-one.share, one.metric); });
  return metrics;
}

}  // namespace rocescope
