// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "appliance/cli/score/calibration.h"
#include "appliance/cli/score/detector_rates.h"
#include "appliance/cli/score/view.h"
#include "appliance/common/report/table.h"
#include "base/median.h"
#include "rocescope/v1/score.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

// Rounded away from the goal, so that a miss never looks like a hit.
std::string Percent(double share) {
  return fmt::format("{:.2f}", std::floor(share * 1e4 + 1e-6) / 100);
}
std::string Percent(const Interval& share) {
  return fmt::format("{:.1f} to {:.1f}", 100 * share.low, 100 * share.high);
}
std::string Windows(double delay) {
  // std::max does not distinguish -0 from 0.
  const double tenths = std::ceil(delay * 10 - 1e-6);
  return fmt::format("{:.1f}", tenths > 0 ? tenths / 10 : 0.0);
}

// Three significant digits, rounded up.
std::string Rate(double rate) {
  if (rate <= 0) return "0";
  const int decimals = std::max(0, 2 - static_cast<int>(std::floor(std::log10(rate))));
  const double unit = std::pow(10, decimals);
  return fmt::format("{:.{}f}", std::ceil(rate * unit - 1e-6) / unit, decimals);
}

std::string GoalText(const Figure& figure) {
  if (!figure.goal) return "";
  const double goal =
      UnitOf(figure.measure) == FigureUnit::kRatio ? 100 * *figure.goal : *figure.goal;
  return fmt::format("at {} {:g}", IsAtMost(figure.measure) ? "most" : "least", goal);
}

std::string ValueText(const Figure& figure) {
  switch (UnitOf(figure.measure)) {
    case FigureUnit::kRatio:
      return Percent(figure.value);
    case FigureUnit::kFindings:
      return fmt::format("{}", figure.value);
    case FigureUnit::kWindows:
    case FigureUnit::kSeconds:
      return Windows(figure.value);
    case FigureUnit::kPerWindows:
    case FigureUnit::kPerDay:
      return Rate(figure.value);
  }
  return "";
}

std::string IntervalText(const Figure& figure) {
  if (!figure.interval) return "";
  if (!figure.upper) return Percent(*figure.interval);
  return fmt::format("{} to {}; one-sided: at most {}", Rate(figure.interval->low),
                     Rate(figure.interval->high), Rate(*figure.upper));
}

std::string CountText(const Figure& figure) {
  switch (UnitOf(figure.measure)) {
    case FigureUnit::kWindows:
    case FigureUnit::kSeconds:
      return Counted(figure.of, "fault");
    case FigureUnit::kFindings:
      return fmt::format("none in {} of {}", figure.right, figure.of);
    case FigureUnit::kPerWindows:
      return fmt::format("{} in {:.0f} windows", WithThousands(figure.right),
                         1000 * figure.exposure);
    case FigureUnit::kPerDay:
      return fmt::format("{} in {:.3g} days", WithThousands(figure.right), figure.exposure);
    case FigureUnit::kRatio:
      return fmt::format("{} of {}", WithThousands(figure.right), WithThousands(figure.of));
  }
  return "";
}

std::string RenderBars(std::span<const Figure> figures) {
  TextTable table({{"BAR"},
                   {"GOAL", Align::kRight},
                   {"FIGURE", Align::kRight},
                   {"COUNTS", Align::kRight},
                   {"95 % INTERVAL", Align::kRight},
                   {"WEIGHTED", Align::kRight},
                   {"MET"}});
  for (const Figure& figure : figures) {
    table.Add({std::string(TitleOf(figure.measure)), GoalText(figure), ValueText(figure),
               CountText(figure), IntervalText(figure),
               figure.weighted ? Percent(*figure.weighted) : "",
               !figure.goal     ? ""
               : figure.Holds() ? "yes"
                                : "no !"});
  }
  return table.Render(2);
}

// Below these counts, the result is mostly chance.
std::string TooFew(std::span<const RunFindings> runs) {
  constexpr uint64_t kVisible = 12;
  constexpr uint64_t kHealthy = 120;
  const std::map<std::string, KindCounts> kinds = CountKinds(runs);
  const auto healthy = kinds.find("");
  const auto of_healthy = healthy == kinds.end() ? 0 : static_cast<uint64_t>(healthy->second.runs);
  std::vector<std::string> few;
  for (const FaultInfo& info : kFaultInfos) {
    const auto at = kinds.find(std::string(info.name));
    const uint64_t visible = at == kinds.end() ? 0 : at->second.visible;
    if (visible < kVisible) few.push_back(fmt::format("{} {}", info.name, visible));
  }
  if (of_healthy < kHealthy) few.push_back(fmt::format("healthy runs {}", of_healthy));
  if (few.empty()) return "";
  return fmt::format(
      "\n"
      "  The goals are meant for at least {} visible faults of each type and {} healthy runs; "
      "there are fewer:\n"
      "    {}\n",
      kVisible, kHealthy, fmt::join(few, ", "));
}

std::string RenderKinds(std::span<const RunFindings> runs) {
  TextTable table({{"TYPE"},
                   {"FAULTS", Align::kRight},
                   {"VISIBLE", Align::kRight},
                   {"BELOW LIMIT, LOCATED", Align::kRight},
                   {"DETECTED", Align::kRight},
                   {"TYPE RIGHT", Align::kRight},
                   {"PLACE RIGHT", Align::kRight},
                   {"PLACE LISTED", Align::kRight},
                   {"DELAY (WINDOWS), MEDIAN", Align::kRight},
                   {"WORST", Align::kRight},
                   {"FALSE FINDINGS", Align::kRight}});
  for (const auto& [kind, counts] : CountKinds(runs)) {
    // Not whole if runs have several faults.
    const std::string wrong = fmt::format("{:g}", std::round(counts.false_findings * 10) / 10);
    if (kind.empty()) {
      table.Add({"healthy", "", "", "", "", "", "", "", "", "", wrong});
      continue;
    }
    const bool any = !counts.delays.empty();
    const std::string below =
        counts.below_limit == 0
            ? ""
            : fmt::format("{} of {}", counts.below_limit_named, counts.below_limit);
    table.Add({kind, std::to_string(counts.faults), std::to_string(counts.visible), below,
               std::to_string(counts.detected), std::to_string(counts.kind_right),
               std::to_string(counts.place_right), std::to_string(counts.place_named),
               any ? Windows(MedianOf(std::vector(counts.delays))) : "",
               any ? Windows(counts.delays.back()) : "", wrong});
  }
  return table.empty() ? "" : "\n" + table.Render(2);
}

// Only if there are runs with several faults.
std::string RenderConcurrency(std::span<const RunFindings> runs) {
  const auto by_number = CountByConcurrency(runs);
  if (by_number.empty() || by_number.rbegin()->first < 2) return "";
  TextTable table({{"VISIBLE FAULTS", Align::kRight},
                   {"RUNS", Align::kRight},
                   {"FAULTS", Align::kRight},
                   {"DETECTED", Align::kRight},
                   {"TYPE RIGHT", Align::kRight},
                   {"PLACE RIGHT", Align::kRight},
                   {"FALSE FINDINGS", Align::kRight},
                   {"RUNS WITH A FALSE FINDING", Align::kRight}});
  for (const auto& [number, counts] : by_number) {
    table.Add({std::to_string(number), std::to_string(counts.runs), std::to_string(counts.visible),
               std::to_string(counts.detected), std::to_string(counts.kind_right),
               std::to_string(counts.place_right), std::to_string(counts.false_findings),
               std::to_string(counts.false_runs)});
  }
  return "\n" + table.Render(2);
}

std::string RenderCauses(std::span<const RunFindings> runs) {
  TextTable table({{"FALSE FINDINGS OF"},
                   {"COINCIDING WITH"},
                   {"FINDINGS", Align::kRight},
                   {"RUNS", Align::kRight}});
  for (const CauseCounts& counts : CountCauses(runs)) {
    table.Add(
        {counts.kind, counts.cause, std::to_string(counts.findings), std::to_string(counts.runs)});
  }
  return table.empty() ? "" : "\n" + table.Render(2);
}

std::string RenderConfusion(std::span<const RunFindings> runs) {
  TextTable table({{"TRUE TYPE"}, {"REPORTED, runs"}});
  for (const auto& [kind, row] : CountConfusion(runs)) {
    std::vector<std::string> said;
    for (const auto& [other, count] : row) said.push_back(fmt::format("{} {}", other, count));
    table.Add({kind, fmt::format("{}", fmt::join(said, ", "))});
  }
  return table.empty() ? "" : "\n" + table.Render(2);
}

std::string At(std::string_view kind, std::string_view place) {
  return place.empty() ? std::string(kind) : fmt::format("{} at {}", kind, place);
}

std::string LimitText(const v1::FaultScore& fault) {
  constexpr double kUnlimited = 1e17;  // see TruthFault.detection_limit_frames
  if (!IsBelowLimit(fault)) return "";
  if (fault.undetectable()) return " (the report states that this telemetry cannot show it)";
  if (fault.too_short()) return " (shorter than its detectors state that they need)";
  if (fault.detection_limit_frames() > kUnlimited) return " (the counters cannot show it)";
  return fmt::format(" ({} frames, below the detection limit of {:.0f})", fault.affected_frames(),
                     fault.detection_limit_frames());
}

// One run, with one line for each miss.
void AppendMisses(const RunFindings& run, std::string& text) {
  constexpr int kMaxFalse = 5;
  const auto line = [&](const std::string& what) {
    text += fmt::format("    {}: {}\n", run.scenario, what);
  };
  for (const v1::FaultScore& fault : run.score->faults()) {
    if (!fault.visible() || (fault.kind_right() && fault.place_right())) continue;
    const std::string truth = At(fault.kind(), fault.place());
    const std::string said =
        fault.stated_kind().empty() ? "nothing" : At(fault.stated_kind(), fault.stated_place());
    if (!fault.detected()) {
      const std::string limit = LimitText(fault);
      line(fmt::format("{}{} was missed; reported instead: {}", truth, limit, said));
    } else if (fault.place_right()) {
      line(fmt::format("{} was reported as {}", truth, fault.stated_kind()));
    } else {
      line(fmt::format("{} was located at {}{}", truth, fault.stated_place(),
                       fault.place_rank() > 0
                           ? fmt::format(" (the right place is number {})", fault.place_rank())
                           : ""));
    }
  }
  const std::string truth =
      run.kinds.empty() ? "is healthy" : fmt::format("has a {}", fmt::join(run.kinds, ", "));
  const auto& all_wrong = run.score->false_findings();
  for (int i = 0; i < std::min(all_wrong.size(), kMaxFalse); ++i) {
    const v1::FalseFinding& wrong = all_wrong[i];
    const std::string cause =
        !wrong.benign_kind().empty() ? fmt::format(", with the benign event {}",
                                                   At(wrong.benign_kind(), wrong.benign_place()))
        : !wrong.cause_kind().empty()
            ? fmt::format(", possibly an effect of {}", At(wrong.cause_kind(), wrong.cause_place()))
            : "";
    line(fmt::format("{} ({}) is false: the run {}{}", At(wrong.kind(), wrong.place()),
                     ConfidenceText(wrong.confidence()), truth, cause));
  }
  if (all_wrong.size() > kMaxFalse) {
    line(fmt::format("{} more are false", all_wrong.size() - kMaxFalse));
  }
}

std::string RenderMisses(std::span<const RunFindings> runs) {
  std::string text;
  for (const RunFindings& run : runs) AppendMisses(run, text);
  return text.empty() ? "" : "\n  MISSED AND FALSE FINDINGS\n" + text;
}

std::string RenderBaselines(std::span<const RunFindings> runs) {
  std::map<std::string, v1::BaselineScore> sums;
  for (const RunFindings& run : runs) {
    for (const v1::BaselineScore& baseline : run.score->baselines()) {
      v1::BaselineScore& sum = sums[baseline.name()];
      sum.set_visible(sum.visible() + baseline.visible());
      sum.set_detected(sum.detected() + baseline.detected());
      sum.set_place_right(sum.place_right() + baseline.place_right());
      sum.set_healthy(sum.healthy() + baseline.healthy());
      sum.set_healthy_alarms(sum.healthy_alarms() + baseline.healthy_alarms());
    }
  }
  TextTable table({{"BASELINE"},
                   {"DETECTION PRECISION", Align::kRight},
                   {"DETECTION RECALL", Align::kRight},
                   {"FIRST ELEMENT RIGHT", Align::kRight},
                   {"HEALTHY RUNS WITH AN ALARM", Align::kRight}});
  const auto share = [](uint64_t right, uint64_t of) {
    if (of == 0) return std::string();
    return fmt::format("{} ({} of {})",
                       Percent(static_cast<double>(right) / static_cast<double>(of)), right, of);
  };
  for (const auto& [name, sum] : sums) {
    table.Add({name, share(sum.detected(), sum.detected() + sum.healthy_alarms()),
               share(sum.detected(), sum.visible()), share(sum.place_right(), sum.visible()),
               share(sum.healthy_alarms(), sum.healthy())});
  }
  return table.empty() ? "" : "\n" + table.Render(2);
}

class ProfileTable {
 public:
  void Add(const ScoreGroup& group, const View& view) {
    const std::vector<RunFindings> runs = FindingsOf(group.scores, view.name);
    if (runs.empty()) return;
    const std::vector<Figure> figures = FiguresOf(runs, view.name, {});
    const auto cell = [&](FindingMeasure measure, bool with_bound = false) -> std::string {
      const auto at = std::ranges::find(figures, measure, &Figure::measure);
      if (at == figures.end()) return "";
      const std::string value = ValueText(*at) + (at->Holds() ? "" : " !");
      return with_bound && at->upper ? fmt::format("{} (at most {})", value, Rate(*at->upper))
                                     : value;
    };
    table_.Add({group.profile.empty() ? "none" : group.profile, std::string(view.name),
                std::to_string(runs.size()), Days(runs), cell(FindingMeasure::kRecall),
                cell(FindingMeasure::kPlace), cell(FindingMeasure::kKind),
                cell(FindingMeasure::kMedianSeconds), cell(FindingMeasure::k90thSeconds),
                cell(FindingMeasure::kFalsePerDay, true), cell(FindingMeasure::kHealthyAlarms),
                cell(FindingMeasure::kSuspicionsPerDay), CalibrationOf(group.scores, view.name)});
  }
  std::string Render() const { return table_.Render(2); }

 private:
  static std::string Days(std::span<const RunFindings> runs) {
    const double days = ExposureOf(runs).days;
    return days > 0 ? fmt::format("{:.3g}", days) : "";
  }
  static std::string CalibrationOf(std::span<const v1::Score> scores, std::string_view view) {
    const std::vector<CalibrationBin> bins = Calibrate(scores, view);
    const auto all = std::ranges::find_if(bins, [](const CalibrationBin& bin) {
      return bin.answer == kFindingAnswer && !bin.percent;
    });
    if (all == bins.end()) return "";
    return fmt::format("{:+.1f}{}", 100 * (all->stated - all->right),
                       all->state == BinState::kMisses ? " !" : "");
  }

  TextTable table_{{{"PROFILE"},
                    {"VIEW"},
                    {"RUNS", Align::kRight},
                    {"FABRIC-DAYS", Align::kRight},
                    {"DETECTED %", Align::kRight},
                    {"ELEMENT RIGHT %", Align::kRight},
                    {"TYPE RIGHT %", Align::kRight},
                    {"SECONDS TO DETECTION, MEDIAN", Align::kRight},
                    {"90TH PERCENTILE", Align::kRight},
                    {"FALSE ALARMS PER DAY", Align::kRight},
                    {"HEALTHY RUNS WITH ONE %", Align::kRight},
                    {"SUSPICIONS PER DAY", Align::kRight},
                    {"STATED - RIGHT", Align::kRight}}};
};

}  // namespace

std::string RenderProfiles(std::span<const ScoreGroup> groups) {
  if (std::ranges::all_of(groups, [](const ScoreGroup& group) { return group.profile.empty(); })) {
    return "";
  }
  ProfileTable table;
  for (const ScoreGroup& group : groups) {
    for (const View& view : Views()) {
      if (view.about_faults) table.Add(group, view);
    }
  }
  return "\nPROFILES\n\n" + table.Render();
}

FindingTables RenderFindings(std::span<const v1::Score> scores, const KindWeights& weights) {
  FindingTables out;
  for (const View& view : Views()) {
    const std::vector<RunFindings> runs = FindingsOf(scores, view.name);
    if (runs.empty()) continue;
    const std::vector<Figure> figures = FiguresOf(runs, view.name, weights);
    for (const Figure& figure : figures) {
      out.all_hold &= figure.Holds();
      out.has_goals |= figure.goal.has_value();
    }
    out.text += fmt::format("\nFAULTS, {} ({}), in {}; shares in percent\n\n", view.name,
                            view.title, Counted(runs.size(), "run"));
    // A single run is too short to judge rates.
    const std::vector<DetectorRate> rates =
        runs.size() > 1 ? DetectorRatesOf(runs) : std::vector<DetectorRate>();
    if (std::ranges::any_of(rates, &DetectorRate::IsViolated)) {
      out.all_hold = false;
      out.has_goals = true;
    }
    const bool has_goals = !view.when_named;
    out.text += RenderBars(figures) + (runs.size() > 1 && has_goals ? TooFew(runs) : "") +
                RenderKinds(runs) + RenderConcurrency(runs) + RenderCauses(runs) +
                RenderDetectorRates(rates) + RenderConfusion(runs) + RenderBaselines(runs) +
                RenderMisses(runs);
  }
  return out;
}

}  // namespace rocescope
