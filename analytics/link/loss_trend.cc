// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/loss_trend.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/median.h"

namespace rocescope {

void LossTrend::Add(const TrendReadings& readings) {
  readings_[count_++] = readings;
  if (count_ == kReadings) FinishBlock();
}

void LossTrend::Restart() {
  count_ = 0;
  others_ = 0;
  usual_.reset();
  blocks_.clear();
  if (loss_) loss_->is_over = true;
}

void LossTrend::FinishBlock() {
  // Traffic of fewer frames shows no ratio.
  constexpr double kLeastSent = 1000;
  count_ = 0;
  const TrendReadings& first = readings_.front();
  const TrendReadings& last = readings_.back();
  const auto sent = static_cast<double>(last.sent - first.sent);
  const auto received = static_cast<double>(last.received - first.received);
  if (sent < kLeastSent || received < kLeastSent) return;
  Block block = {.ratio = sent / received,
                 .sent = static_cast<double>(readings_[kReadings / 2].sent),
                 .from = first.time,
                 .until = last.time};
  if (LeavesOut(block)) return;
  std::array<double, kReadings> sums{};
  if (!usual_) {
    std::array<double, kReadings> others{};
    for (size_t i = 0; i < kReadings; ++i) {
      sums[i] = static_cast<double>(readings_[i].missing);
      others[i] = static_cast<double>(readings_[i].missing_other);
    }
    usual_ = {UpperMedianOf(sums), UpperMedianOf(others)};
  }
  for (size_t i = 0; i < kReadings; ++i) {
    sums[i] = static_cast<double>(readings_[i].missing) - usual_->first +
              block.ratio * (static_cast<double>(readings_[i].missing_other) - usual_->second);
  }
  block.sum = MedianOf(sums);
  if (blocks_.size() == kMostBlocks) MergeOldest();
  blocks_.push_back(block);
  if (blocks_.size() >= kLeastBlocks) Update();
}

// Leaves out a block whose traffic has another ratio than usual: the mean difference of the reading
// times has another weight in its sum. If the ratio stays different, the search begins again.
bool LossTrend::LeavesOut(const Block& block) {
  constexpr double kSimilar = 0.1;
  constexpr uint32_t kMany = 8;
  if (blocks_.empty()) return false;
  std::vector<double> ratios;
  for (const Block& one : blocks_) ratios.push_back(one.ratio);
  const double usual = UpperMedianOf(ratios);
  if (std::abs(block.ratio - usual) <= kSimilar * usual) {
    others_ = 0;
    return false;
  }
  if (++others_ == kMany) Restart();
  return true;
}

// Merges pairs of the older half, so that the blocks cover the whole time.
void LossTrend::MergeOldest() {
  constexpr size_t kPairs = kMostBlocks / 4;
  for (size_t i = 0; i < kPairs; ++i) {
    const Block& a = blocks_[2 * i];
    const Block& b = blocks_[2 * i + 1];
    blocks_[i] = {.sum = (a.sum + b.sum) / 2,
                  .ratio = (a.ratio + b.ratio) / 2,
                  .sent = (a.sent + b.sent) / 2,
                  .from = a.from,
                  .until = b.until};
  }
  blocks_.erase(blocks_.begin() + kPairs, blocks_.begin() + 2 * kPairs);
}

// The test by Mann and Kendall ("Rank correlation methods", 1975): of all pairs of blocks, how many
// more have grown than have fallen. It makes no assumption about the fluctuations but that one
// order is as likely as another.
bool LossTrend::Grows() const {
  // In standard deviations. Blocks of readings are not independent, and many links are tested all
  // the time.
  constexpr double kSure = 6;
  const size_t all = blocks_.size();
  int64_t grown = 0;
  for (size_t i = 0; i < all; ++i) {
    for (size_t j = i + 1; j < all; ++j) {
      grown += blocks_[j].sum > blocks_[i].sum ? 1 : blocks_[j].sum < blocks_[i].sum ? -1 : 0;
    }
  }
  const auto n = static_cast<double>(all);
  return static_cast<double>(grown) > kSure * std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

LossTrend::Fit LossTrend::FitOf(size_t begin, size_t end) const {
  const double from = blocks_[begin].sent;
  const double until = end < blocks_.size() ? blocks_[end].sent : blocks_.back().sent;
  const auto exposed_to = [&](const Block& block) {
    return std::clamp(block.sent, from, until) - from;
  };
  double sum = 0;
  double exposed = 0;
  for (const Block& block : blocks_) {
    sum += block.sum;
    exposed += exposed_to(block);
  }
  const auto all = static_cast<double>(blocks_.size());
  sum /= all;
  exposed /= all;
  double xx = 0;
  double xy = 0;
  for (const Block& block : blocks_) {
    const double x = exposed_to(block) - exposed;
    xx += x * x;
    xy += x * (block.sum - sum);
  }
  if (xx <= 0) return {};
  Fit fit = {.slope = xy / xx};
  std::vector<double> residuals;
  for (const Block& block : blocks_) {
    residuals.push_back(std::abs(block.sum - sum - fit.slope * (exposed_to(block) - exposed)));
  }
  fit.rest = UpperMedianOf(residuals);
  return fit;
}

void LossTrend::Update() {
  const bool is_known = loss_ && !loss_->is_over;
  if (!is_known && !Grows()) return;
  const size_t all = blocks_.size();
  Fit best = FitOf(0, all);
  size_t begin = 0;
  for (size_t from = 1; from + kLeastAfter <= all; ++from) {
    const Fit fit = FitOf(from, all);
    if (fit.rest >= best.rest) continue;
    best = fit;
    begin = from;
  }
  size_t end = all;
  for (size_t until = begin + 2; until + kLeastAfter <= all; ++until) {
    constexpr double kBetter = 0.7;
    const Fit fit = FitOf(begin, until);
    if (fit.rest >= kBetter * best.rest) continue;
    best = fit;
    end = until;
  }
  // The growth stands out from the fluctuations of single blocks.
  constexpr double kClear = 4;
  // Several jobs with traffic of different ratios make the sum drift slowly: by up to the traffic
  // of 1.4 s among 3,072 links in a simulated day.
  constexpr double kDrift = 5;  // seconds
  const Block& last = end < all ? blocks_[end] : blocks_.back();
  const double seconds = std::chrono::duration<double>(last.from - blocks_[begin].from).count();
  const double exposed = last.sent - blocks_[begin].sent;
  const double drift = seconds > 0 ? kDrift * exposed / seconds : 0;
  if (best.slope * exposed < std::max(kClear * best.rest, drift)) return;
  const bool is_new = !loss_ || (loss_->is_over && blocks_[begin].from > loss_->last);
  if (is_new) {
    // Later, the beginning becomes part of a merged block.
    loss_ = Loss{.from = blocks_[begin].from, .detected_at = blocks_.back().until};
    sent_before_ = blocks_[begin].sent;
  } else if (loss_->is_over && end < all) {
    return;
  }
  loss_->sent = last.sent - sent_before_;
  loss_->frames = best.slope * loss_->sent;
  loss_->last = end < all ? blocks_[end].from : blocks_.back().until;
  loss_->is_over = end < all;
}

}  // namespace rocescope
