// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "appliance/common/report/table.h"
#include "base/hash.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

constexpr size_t kResamples = 1000;
constexpr double kTail = 0.025;
constexpr uint64_t kSeed = 1985;

struct Count {
  double answers = 0;
  double right = 0;
  double confidence = 0;

  void Add(const Count& other) {
    answers += other.answers;
    right += other.right;
    confidence += other.confidence;
  }
  double Gap() const { return (confidence - right) / answers; }
};

// The runs with answers in the bin. A run without answers is drawn, too, and adds nothing.
using Runs = std::map<size_t, Count>;

std::pair<double, double> BootstrapInterval(const Runs& runs, size_t all) {
  std::vector<Count> of_run(all);
  for (const auto& [run, count] : runs) of_run[run] = count;
  std::vector<double> gaps;
  uint64_t drawn = kSeed;
  for (size_t i = 0; i < kResamples; ++i) {
    Count sum;
    for (size_t r = 0; r < all; ++r) {
      drawn += 0x9e3779b97f4a7c15ull;  // SplitMix64
      sum.Add(of_run[Mix64(drawn) % all]);
    }
    if (sum.answers > 0) gaps.push_back(sum.Gap());
  }
  if (gaps.empty()) return {0, 0};
  std::ranges::sort(gaps);
  const auto at = [&](double share) {
    return gaps[static_cast<size_t>(std::lround(share * static_cast<double>(gaps.size() - 1)))];
  };
  return {at(kTail), at(1 - kTail)};
}

BinState StateOf(const CalibrationBin& bin) {
  constexpr double kRounding = 1e-9;
  const auto is_within = [](double gap) { return std::abs(gap) <= kCalibrated + kRounding; };
  const uint64_t enough = bin.answer == kFindingAnswer ? kEnoughFindings : kEnoughAnswers;
  if (bin.answers < enough) return BinState::kFew;
  if (!is_within(bin.stated - bin.right)) return BinState::kMisses;
  return is_within(bin.low) && is_within(bin.high) ? BinState::kHolds : BinState::kUnsure;
}

std::string DiagramOf(const CalibrationBin& bin) {
  constexpr int kWidth = 50;
  const auto column = [](double share) {
    return static_cast<size_t>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth));
  };
  std::string bar(kWidth + 1, '.');
  const size_t first = column(bin.stated - bin.high);
  for (size_t i = first; i <= std::max(first, column(bin.stated - bin.low)); ++i) bar[i] = '-';
  bar[column(bin.stated)] = '|';
  bar[column(bin.right)] = '*';
  return bar;
}

std::string_view MarkOf(BinState state) {
  switch (state) {
    case BinState::kFew:
      return "few";
    case BinState::kHolds:
      return "holds";
    case BinState::kUnsure:
      return "holds?";
    case BinState::kMisses:
      return "!";
  }
  return "";
}

}  // namespace

std::vector<CalibrationBin> Calibrate(std::span<const v1::Score> scores,
                                      std::string_view only_view) {
  std::map<std::pair<std::string, std::optional<uint32_t>>, Runs> of_bin;
  for (size_t run = 0; run < scores.size(); ++run) {
    for (const v1::ViewScore& view : scores[run].views()) {
      if (!only_view.empty() && view.view() != only_view) continue;
      for (const v1::Bin& bin : view.bins()) {
        if (bin.answers() == 0) continue;
        const Count count = {.answers = static_cast<double>(bin.answers()),
                             .right = static_cast<double>(bin.right()),
                             .confidence = bin.confidence()};
        of_bin[{bin.answer(), bin.percent()}][run].Add(count);
        if (bin.answer() == kFindingAnswer) of_bin[{bin.answer(), std::nullopt}][run].Add(count);
      }
    }
  }
  std::vector<CalibrationBin> bins;
  for (const auto& [key, runs] : of_bin) {
    Count sum;
    for (const auto& [run, count] : runs) sum.Add(count);
    CalibrationBin& bin = bins.emplace_back();
    bin.answer = key.first;
    bin.percent = key.second;
    bin.answers = static_cast<uint64_t>(sum.answers);
    bin.stated = sum.confidence / sum.answers;
    bin.right = sum.right / sum.answers;
    std::tie(bin.low, bin.high) = BootstrapInterval(runs, scores.size());
    bin.state = StateOf(bin);
  }
  return bins;
}

std::string RenderCalibration(std::span<const CalibrationBin> bins) {
  if (bins.empty()) return "";
  TextTable table({{"ANSWER"},
                   {"STATED %", Align::kRight},
                   {"RIGHT %", Align::kRight},
                   {"STATED - RIGHT", Align::kRight},
                   {"95 % BOOTSTRAP", Align::kRight},
                   {"OF", Align::kRight},
                   {""},
                   {"0 % ... 100 %"}});
  for (const CalibrationBin& bin : bins) {
    table.Add({bin.percent ? bin.answer : "every " + bin.answer,
               fmt::format("{:.1f}", 100 * bin.stated), fmt::format("{:.1f}", 100 * bin.right),
               fmt::format("{:+.1f}", 100 * (bin.stated - bin.right)),
               fmt::format("{:+.1f} to {:+.1f}", 100 * bin.low, 100 * bin.high),
               WithThousands(bin.answers), std::string(MarkOf(bin.state)), DiagramOf(bin)});
  }
  return "\nSTATED CONFIDENCE (|) AND OBSERVED SHARE (*)\n\n" + table.Render(2);
}

}  // namespace rocescope
