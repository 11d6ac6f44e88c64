// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/summary.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/cli/score/calibration.h"
#include "appliance/cli/score/detector_rates.h"
#include "appliance/cli/score/score_groups.h"
#include "appliance/cli/score/view.h"
#include "base/median.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

std::string_view NameOf(FigureUnit unit) {
  switch (unit) {
    case FigureUnit::kRatio:
      return "ratio";
    case FigureUnit::kWindows:
      return "windows";
    case FigureUnit::kSeconds:
      return "s";
    case FigureUnit::kFindings:
      return "findings";
    case FigureUnit::kPerWindows:
      return "per 1000 windows";
    case FigureUnit::kPerDay:
      return "per day";
  }
  return "";
}

// Counts of the summary have 32 bits, because JSON has 64-bit numbers as strings.
uint32_t Small(uint64_t count) {
  return static_cast<uint32_t>(std::min<uint64_t>(count, std::numeric_limits<uint32_t>::max()));
}

void AddFigure(const Figure& figure, v1::GroupSummary& group) {
  v1::FigureSummary& out = *group.add_figures();
  out.set_name(std::string(NameOf(figure.measure)));
  out.set_value(figure.value);
  out.set_unit(std::string(NameOf(UnitOf(figure.measure))));
  out.set_numerator(static_cast<double>(figure.right));
  out.set_denominator(figure.exposure > 0 ? figure.exposure : static_cast<double>(figure.of));
  if (figure.interval) {
    out.set_low(figure.interval->low);
    out.set_high(figure.interval->high);
  }
  if (figure.upper) out.set_upper_bound(*figure.upper);
  if (figure.goal) out.set_goal(*figure.goal);
  if (figure.weighted) out.set_weighted(*figure.weighted);
  out.set_met(figure.Holds());
}

void AddKind(const std::string& kind, const KindCounts& counts, v1::GroupSummary& group) {
  v1::KindSummary& out = *group.add_kinds();
  out.set_kind(kind);
  out.set_fault_count(Small(counts.faults));
  out.set_visible_count(Small(counts.visible));
  out.set_detected_count(Small(counts.detected));
  out.set_kind_right_count(Small(counts.kind_right));
  out.set_place_right_count(Small(counts.place_right));
  out.set_place_listed_count(Small(counts.place_named));
  out.set_below_limit_count(Small(counts.below_limit));
  out.set_below_limit_detected_count(Small(counts.below_limit_detected));
  out.set_below_limit_place_listed_count(Small(counts.below_limit_named));
  if (!counts.delays.empty()) out.set_median_delay_windows(MedianOf(std::vector(counts.delays)));
  if (!counts.seconds.empty()) out.set_median_delay_seconds(MedianOf(std::vector(counts.seconds)));
}

void AddConcurrency(uint32_t visible, const ConcurrencyCounts& counts, v1::GroupSummary& group) {
  v1::ConcurrencySummary& out = *group.add_concurrent();
  out.set_visible_faults(visible);
  out.set_run_count(Small(counts.runs));
  out.set_detected_count(Small(counts.detected));
  out.set_kind_right_count(Small(counts.kind_right));
  out.set_place_right_count(Small(counts.place_right));
  out.set_false_finding_count(Small(counts.false_findings));
  out.set_false_run_count(Small(counts.false_runs));
}

void AddCalibration(const CalibrationBin& bin, v1::GroupSummary& group) {
  v1::CalibrationSummary& out = *group.add_calibration();
  if (bin.percent) out.set_percent(*bin.percent);
  out.set_finding_count(Small(bin.answers));
  out.set_stated(bin.stated);
  out.set_right(bin.right);
  out.set_low(bin.low);
  out.set_high(bin.high);
  out.set_judged(bin.state != BinState::kFew);
  out.set_met(bin.state != BinState::kMisses);
}

void AddDetector(const DetectorRate& rate, v1::GroupSummary& group) {
  v1::DetectorSummary& out = *group.add_detectors();
  out.set_detector(std::string(rate.detector));
  out.set_finding_count(Small(rate.findings));
  out.set_false_finding_count(Small(rate.false_findings));
  out.set_stated_false_per_day(rate.stated);
  if (rate.measured) out.set_false_per_day(*rate.measured);
  if (rate.interval) {
    out.set_low(rate.interval->low);
    out.set_high(rate.interval->high);
  }
  out.set_violated(rate.IsViolated());
}

void AddGroup(const ScoreGroup& of_profile, const View& view, const KindWeights& weights,
              v1::ScoreSummary& summary) {
  const std::vector<RunFindings> runs = FindingsOf(of_profile.scores, view.name);
  if (runs.empty()) return;
  v1::GroupSummary& group = *summary.add_groups();
  group.set_profile(of_profile.profile);
  group.set_view(std::string(view.name));
  group.set_run_count(Small(runs.size()));
  for (const RunFindings& run : runs) {
    group.set_healthy_run_count(group.healthy_run_count() + run.kinds.empty());
  }
  const Exposure exposure = ExposureOf(runs);
  group.set_window_count(exposure.windows);
  group.set_fabric_days(exposure.days);
  for (const Figure& figure : FiguresOf(runs, view.name, weights)) AddFigure(figure, group);
  for (const auto& [kind, counts] : CountKinds(runs)) {
    if (!kind.empty()) AddKind(kind, counts, group);
  }
  for (const auto& [visible, counts] : CountByConcurrency(runs)) {
    AddConcurrency(visible, counts, group);
  }
  for (const CauseCounts& counts : CountCauses(runs)) {
    v1::CauseSummary& out = *group.add_false_findings();
    out.set_cause(counts.cause);
    out.set_kind(counts.kind);
    out.set_finding_count(Small(counts.findings));
    out.set_run_count(Small(counts.runs));
  }
  for (const DetectorRate& rate : DetectorRatesOf(runs)) AddDetector(rate, group);
  for (const CalibrationBin& bin : Calibrate(of_profile.scores, view.name)) {
    if (bin.answer == kFindingAnswer) AddCalibration(bin, group);
  }
}

}  // namespace

void Summarise(std::span<const v1::Score> scores, const KindWeights& weights,
               v1::ScoreSummary& summary) {
  summary.set_schema_version(2);
  for (const ScoreGroup& group : GroupByProfile(scores)) {
    for (const View& view : Views()) {
      if (view.about_faults) AddGroup(group, view, weights, summary);
    }
  }
}

}  // namespace rocescope
