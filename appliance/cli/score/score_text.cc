// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "appliance/cli/score/calibration.h"
#include "appliance/cli/score/finding_text.h"
#include "appliance/cli/score/score.h"
#include "appliance/cli/score/score_groups.h"
#include "appliance/cli/score/view.h"
#include "appliance/common/report/table.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

struct Row {
  const View* view = nullptr;
  bool three_tiers = false;
  int runs = 0;
  v1::ViewScore sum;
};

std::optional<double> ShareOf(const v1::ViewScore& score, MeasureKind kind) {
  for (const v1::Measure& measure : score.measures()) {
    if (measure.name() == NameOf(kind) && measure.of() > 0) return measure.right() / measure.of();
  }
  return std::nullopt;
}

std::optional<double> BoundOf(const View& view, MeasureKind kind, bool three_tiers) {
  std::optional<double> bound;
  for (const Bar& bar : view.bars) {
    if (bar.measure == kind && (three_tiers || !bar.three_tiers)) bound = bar.bound;
  }
  return bound;
}

bool Holds(MeasureKind kind, double share, double bound) {
  constexpr double kRounding = 1e-9;
  return IsAtMost(kind) ? share <= bound + kRounding : share >= bound - kRounding;
}

std::string TitleOf(const Row& row) {
  return fmt::format("{}{}", row.view->title, row.three_tiers ? " (three tiers)" : "");
}

std::vector<Row> Sum(std::span<const v1::Score> scores) {
  std::vector<Row> rows;
  for (const View& view : Views()) {
    if (view.about_faults) continue;
    for (const bool three_tiers : {false, true}) {
      rows.push_back({.view = &view, .three_tiers = three_tiers});
    }
  }
  for (const v1::Score& score : scores) {
    for (const v1::ViewScore& view : score.views()) {
      const auto row = std::ranges::find_if(rows, [&](const Row& known) {
        return known.view->name == view.view() &&
               known.three_tiers == (score.switch_tier_count() > 2);
      });
      if (row == rows.end()) continue;
      ++row->runs;
      AddScore(view, row->sum);
    }
  }
  std::erase_if(rows, [](const Row& row) { return row.runs == 0; });
  return rows;
}

bool IsShownAnyway(MeasureKind kind) {
  switch (kind) {
    case MeasureKind::kJobs:
    case MeasureKind::kCollectives:
    case MeasureKind::kPeriods:
    case MeasureKind::kPeriodsStated:
    case MeasureKind::kPeriodsWrong:
    case MeasureKind::kPeriodError:
    case MeasureKind::kWaitedFor:
    case MeasureKind::kPathReach:
      return true;
    default:
      return false;
  }
}

// "99.95", or "99.95 !" if the goal is missed.
std::string Cell(const Row& row, MeasureKind kind) {
  const std::optional<double> share = ShareOf(row.sum, kind);
  if (!share) return "";
  const std::optional<double> bound = BoundOf(*row.view, kind, row.three_tiers);
  if (!bound && !IsShownAnyway(kind)) return "";
  // Rounded away from the goal, so that a miss never looks like a hit.
  const double percent =
      (IsAtMost(kind) ? std::ceil(*share * 1e4) : std::floor(*share * 1e4)) / 100;
  return fmt::format("{:.2f}{}", percent, !bound || Holds(kind, *share, *bound) ? "" : " !");
}

std::string WordsOf(MeasureKind kind) {
  std::string words(NameOf(kind));
  std::ranges::replace(words, '_', ' ');
  return words;
}

}  // namespace

std::vector<std::string> MissedBars(const v1::ViewScore& score, bool three_tiers) {
  std::vector<std::string> missed;
  const View* view = FindView(score.view());
  if (view == nullptr) return missed;
  for (size_t i = 0; i < kMeasures; ++i) {
    const auto kind = static_cast<MeasureKind>(i);
    const std::optional<double> bound = BoundOf(*view, kind, three_tiers);
    const std::optional<double> share = ShareOf(score, kind);
    if (!bound || !share || Holds(kind, *share, *bound)) continue;
    // Rounded away from the goal, so that a miss never looks like a hit.
    const double percent =
        (IsAtMost(kind) ? std::ceil(*share * 1e5) : std::floor(*share * 1e5)) / 1000;
    missed.push_back(fmt::format("{}{}: {} is {:.3f} %; the goal is at {} {:.2f} %", view->title,
                                 three_tiers ? " (three tiers)" : "", WordsOf(kind), percent,
                                 IsAtMost(kind) ? "most" : "least", 100 * *bound));
  }
  return missed;
}

namespace {

// One row for each view about connections, jobs and paths, and the missed goals.
void AppendViews(std::span<const Row> rows, ScoreTable& out, std::string& misses) {
  TextTable table({{"VIEW"},
                   {"TELEMETRY"},
                   {"RUNS", Align::kRight},
                   {"STRIPE P", Align::kRight},
                   {"STRIPE R", Align::kRight},
                   {"PAIR P", Align::kRight},
                   {"PAIR R", Align::kRight},
                   {"RANKS", Align::kRight},
                   {"JOBS ARI", Align::kRight},
                   {"COLLECTIVES", Align::kRight},
                   {"PERIODS", Align::kRight},
                   {"STATED", Align::kRight},
                   {"WRONG", Align::kRight},
                   {"PERIOD ERROR", Align::kRight},
                   {"STRAGGLERS", Align::kRight},
                   {"PATH", Align::kRight},
                   {"PATH WRONG", Align::kRight},
                   {"IN REACH", Align::kRight}});
  std::string missed;
  for (const Row& row : rows) {
    std::vector<std::string> cells = {std::string(row.view->name), TitleOf(row),
                                      std::to_string(row.runs)};
    for (size_t i = 0; i < kMeasures; ++i) {
      const auto kind = static_cast<MeasureKind>(i);
      cells.push_back(Cell(row, kind));
      out.has_goals |= BoundOf(*row.view, kind, row.three_tiers) && ShareOf(row.sum, kind);
    }
    table.Add(std::move(cells));
    for (const std::string& sentence : MissedBars(row.sum, row.three_tiers)) {
      missed += "  " + sentence + "\n";
    }
    for (const std::string& miss : row.sum.misses()) {
      misses += fmt::format("  {}: {}\n", row.view->name, miss);
    }
  }
  out.text = "PERCENT (!: goal missed)\n\n" + table.Render(2);
  out.all_hold &= missed.empty();
  if (!missed.empty()) out.text += "\nMISSED GOALS\n\n" + missed;
}

}  // namespace

namespace {

ScoreTable RenderGroup(std::span<const v1::Score> scores, const KindWeights& weights) {
  const std::vector<Row> rows = Sum(scores);
  const FindingTables faults = RenderFindings(scores, weights);
  ScoreTable out;
  std::string misses;
  if (!rows.empty()) AppendViews(rows, out, misses);
  const std::vector<CalibrationBin> bins = Calibrate(scores);
  out.is_calibrated = std::ranges::none_of(
      bins, [](const CalibrationBin& bin) { return bin.state == BinState::kMisses; });
  out.is_judged = std::ranges::any_of(
      bins, [](const CalibrationBin& bin) { return bin.state != BinState::kFew; });
  out.text += RenderCalibration(bins);
  if (!misses.empty()) out.text += "\nERRORS (first of each view)\n\n" + misses;
  out.text += faults.text;
  out.all_hold &= faults.all_hold;
  out.has_goals |= faults.has_goals;
  return out;
}

}  // namespace

ScoreTable RenderScores(std::span<const v1::Score> scores, const KindWeights& weights) {
  const std::vector<ScoreGroup> groups = GroupByProfile(scores);
  ScoreTable out;
  for (const ScoreGroup& group : groups) {
    const ScoreTable table = RenderGroup(group.scores, weights);
    if (!group.profile.empty()) out.text += fmt::format("\nPROFILE {}\n", group.profile);
    out.text += table.text;
    out.all_hold &= table.all_hold;
    out.is_calibrated &= table.is_calibrated;
    out.has_goals |= table.has_goals;
    out.is_judged |= table.is_judged;
  }
  if (out.text.empty()) {
    out.text = "Nothing to score: the run does not have the telemetry of any view.\n";
  }
  if (groups.size() > 1 || scores.size() > 1) out.text += RenderProfiles(groups);
  if (out.text.starts_with('\n')) out.text.erase(0, 1);
  return out;
}

}  // namespace rocescope
