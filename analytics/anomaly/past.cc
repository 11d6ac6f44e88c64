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

bool HasNumber(std::span<const float> values) {
  return std::ranges::any_of(values, [](float one) { return !std::isnan(one); });
}

}  // namespace

double Oddness::Probability() const {
  std::array<double, kAnomalyModels> both;
  for (size_t i = 0; i < kAnomalyModels; ++i) both[i] = OfModel(i);
  return MiddleOf(both);
}

double Oddness::OwnProbability() const { return MiddleOf(by_own); }

Past::Past(const Panel& panel, const Choice& counts, const Choice& others,
           const PastOptions& options)
    : options_(options), entities_(panel.entities.size()), width_(panel.metrics.size()) {
  if (entities_ == 0 || width_ == 0) return;
  has_peers_ = entities_ >= options_.fewest_peers;
  std::vector<size_t> windows;  // the windows of this part
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i].empty()) windows.push_back(i);
  }
  std::vector<Deviations> all(windows.size());
  for (Deviations& one : all) one.own.assign(entities_ * width_, kMissingValue);
  middle_.assign(entities_ * width_, kMissingValue);
  std::vector<NumberedValue> values;
  for (size_t entity = 0; entity < entities_; ++entity) {
    for (size_t metric = 0; metric < width_; ++metric) {
      values.clear();
      for (size_t i = 0; i < windows.size(); ++i) {
        const float value = panel.values[panel.At(windows[i], entity) + metric];
        if (counts[windows[i]][entity] && !std::isnan(value)) values.push_back({value, i});
      }
      if (values.size() < options_.fewest_windows) continue;
      const size_t at = entity * width_ + metric;
      middle_[at] = FillLeaveOneOut(values, [&](size_t i, float off) { all[i].own[at] = off; });
    }
  }
  for (Deviations& one : all) CompareWithPeers(one);
  // The rest of the past also shows how far windows deviate from the usual values of this part.
  std::vector<Deviations> others_all;
  std::vector<size_t> other_windows;
  for (size_t i = 0; i < others.size(); ++i) {
    if (others[i].empty()) continue;
    other_windows.push_back(i);
    others_all.push_back(DeviationsOf(panel, i, others[i]));
  }
  FindSpreads(all, others_all, &Deviations::own, own_);
  if (has_peers_) FindSpreads(all, others_all, &Deviations::peers, peers_);
  RowPair fitted{.own = {.width = width_}, .peers = {.width = width_}};
  for (size_t i = 0; i < windows.size(); ++i) {
    AddRows(all[i], counts[windows[i]], windows[i], windows.size(), fitted);
  }
  RowPair seen = fitted;
  for (size_t i = 0; i < other_windows.size(); ++i) {
    AddRows(others_all[i], others[other_windows[i]], other_windows[i], windows.size(), seen);
  }
  if (fitted.own.size() < options_.fewest_rows) return;
  fitted_ =
      Fit(own_, fitted.own, seen.own) && (!has_peers_ || Fit(peers_, fitted.peers, seen.peers));
}

void Past::FindSpreads(std::span<const Deviations> part, std::span<const Deviations> others,
                       std::vector<float> Deviations::* kind, View& view) const {
  std::vector<std::span<const float>> windows;
  for (const Deviations& one : part) windows.emplace_back(one.*kind);
  for (const Deviations& one : others) windows.emplace_back(one.*kind);
  Spreads spreads = SpreadsOf(windows, entities_, width_, options_.least_spread);
  view.spread = std::move(spreads.of_all);
  view.own = std::move(spreads.of_each);
}

void Past::AddRows(const Deviations& deviations, const std::vector<bool>& counts, size_t window,
                   size_t windows, RowPair& rows) const {
  for (size_t entity = 0; entity < entities_; ++entity) {
    if (!counts[entity]) continue;
    if (!IsChosen(window * entities_ + entity, windows * entities_, options_.most_rows)) continue;
    const auto own = std::span<const float>(deviations.own).subspan(entity * width_, width_);
    if (!HasNumber(own)) continue;
    AppendRow(own_, own, entity, {}, rows.own.values);
    if (!has_peers_) continue;
    const auto peers = std::span<const float>(deviations.peers).subspan(entity * width_, width_);
    AppendRow(peers_, peers, entity, deviations.disunity, rows.peers.values);
  }
}

bool Past::Fit(View& view, const Rows& fitted, const Rows& seen) const {
  for (size_t i = 0; i < kAnomalyModels; ++i) {
    view.models[i] = MakeModel(static_cast<AnomalyModelKind>(i));
    if (!view.models[i]->Fit(fitted)) return false;
    std::vector<double> scores(seen.size());
    for (size_t row = 0; row < seen.size(); ++row) scores[row] = view.models[i]->Score(seen[row]);
    view.tails[i] = Tail(std::move(scores));
  }
  return true;
}

void Past::AppendRow(const View& view, std::span<const float> deviations, size_t entity,
                     std::span<const double> disunity, std::vector<double>& rows) const {
  const size_t begin = rows.size();
  rows.resize(begin + width_);
  double* const row = rows.data() + begin;
  for (size_t i = 0; i < width_; ++i) {
    if (std::isnan(deviations[i])) continue;
    double spread = std::max<double>(view.spread[i], view.own[entity * width_ + i]);
    if (!disunity.empty()) spread = std::max(spread, disunity[i]);
    row[i] = static_cast<double>(deviations[i]) / spread;
  }
}

void Past::CompareWithPeers(Deviations& deviations) const {
  deviations.shift.assign(width_, 0);
  deviations.disunity.assign(width_, 0);
  if (!has_peers_) return;
  deviations.peers = deviations.own;
  std::vector<float> values;
  for (size_t metric = 0; metric < width_; ++metric) {
    values.clear();
    size_t zeros = 0;
    for (size_t at = metric; at < deviations.own.size(); at += width_) {
      if (std::isnan(deviations.own[at])) continue;
      values.push_back(deviations.own[at]);
      if (deviations.own[at] == 0) ++zeros;
    }
    if (values.size() < options_.fewest_peers) continue;
    if (2 * zeros > values.size()) continue;  // both medians are 0
    const float shift = MedianOf(values);
    deviations.shift[metric] = shift;
    for (float& one : values) one = std::abs(one - shift);
    deviations.disunity[metric] = kDeviationOfMad * MedianOf(values);
    for (size_t at = metric; at < deviations.own.size(); at += width_)
      deviations.peers[at] -= shift;
  }
}

Past::Deviations Past::DeviationsIn(std::vector<float> values) const {
  Deviations deviations{.own = std::move(values)};
  for (size_t i = 0; i < deviations.own.size(); ++i) deviations.own[i] -= middle_[i];
  CompareWithPeers(deviations);
  return deviations;
}

Past::Deviations Past::DeviationsOf(const Panel& panel, size_t window,
                                    const std::vector<bool>& counts) const {
  std::vector<float> values(entities_ * width_, kMissingValue);
  for (size_t entity = 0; entity < entities_; ++entity) {
    if (!counts[entity]) continue;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(entity * width_);
    std::ranges::copy(panel.Of(window, entity), at);
  }
  return DeviationsIn(std::move(values));
}

std::vector<Oddness> Past::Judge(const Panel& window) const {
  std::vector<Oddness> all(entities_);
  if (!fitted_) return all;
  const Deviations deviations = DeviationsIn(window.values);
  std::vector<double> row;
  for (size_t entity = 0; entity < entities_; ++entity) {
    const auto own = std::span<const float>(deviations.own).subspan(entity * width_, width_);
    if (!HasNumber(own)) continue;
    Oddness& oddness = all[entity];
    oddness.judged = true;
    row.clear();
    AppendRow(own_, own, entity, {}, row);
    for (size_t i = 0; i < kAnomalyModels; ++i) {
      oddness.by_own[i] = own_.tails[i].Probability(own_.models[i]->Score(row));
    }
    if (!has_peers_) continue;
    const auto peers = std::span<const float>(deviations.peers).subspan(entity * width_, width_);
    row.clear();
    AppendRow(peers_, peers, entity, deviations.disunity, row);
    for (size_t i = 0; i < kAnomalyModels; ++i) {
      oddness.by_peers[i] = peers_.tails[i].Probability(peers_.models[i]->Score(row));
    }
  }
  return all;
}

std::vector<MetricDeviation> Past::Explain(const Panel& window, size_t entity,
                                           Duration width) const {
  const Deviations deviations = DeviationsIn(window.values);
  const View& view = has_peers_ ? peers_ : own_;
  const std::vector<float>& seen = has_peers_ ? deviations.peers : deviations.own;
  const auto of_entity = std::span<const float>(seen).subspan(entity * width_, width_);
  std::vector<double> row;
  AppendRow(view, of_entity, entity, deviations.disunity, row);
  std::vector<double> shares(width_);
  for (const auto& model : view.models) {
    const std::vector<double> parts = model->Shares(row);
    for (size_t i = 0; i < width_; ++i) shares[i] += parts[i] / kAnomalyModels;
  }
  std::vector<MetricDeviation> metrics;
  for (size_t i = 0; i < width_; ++i) {
    if (std::isnan(of_entity[i]) || shares[i] == 0) continue;
    const Metric metric = window.metrics[i];
    const double expected = middle_[entity * width_ + i] + deviations.shift[i];
    const double usual = row[i] == 0 ? view.spread[i] : std::abs(of_entity[i] / row[i]);
    const double value = window.values[entity * width_ + i];
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
