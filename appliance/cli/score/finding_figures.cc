// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/finding_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "appliance/cli/score/poisson.h"
#include "appliance/cli/score/suspicion.h"
#include "base/median.h"
#include "rocescope/v1/score.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

using enum FindingMeasure;

constexpr double kNone = -1;

struct MeasureRow {
  std::string_view title;
  std::string_view name;
  FigureUnit unit = FigureUnit::kRatio;
  double full = kNone;     // goal with all telemetry
  double partial = kNone;  // goal with partial telemetry
  double always = kNone;   // goal with any telemetry
  bool at_most = false;    // lower is better; always the case for amounts
};

constexpr std::array<MeasureRow, kFindingMeasures> kRows = {{
    {.title = "detection precision", .name = "detection_precision", .full = 0.99, .partial = 0.95},
    {.title = "detection recall", .name = "detection_recall", .full = 0.995, .partial = 0.97},
    {.title = "detection recall, with faults below the limit",
     .name = "detection_recall_with_faults_below_limit"},
    {.title = "silent loss above the detection limit, located",
     .name = "silent_loss_located_above_limit"},
    {.title = "silent loss below the detection limit, located",
     .name = "silent_loss_located_below_limit"},
    {.title = "fault type right", .name = "kind_right", .full = 0.97},
    {.title = "first element right", .name = "place_right", .full = 0.98, .partial = 0.9},
    {.title = "element right or among the alternatives", .name = "place_listed"},
    {.title = "PFC findings, precision", .name = "pfc_precision", .full = 0.97},
    {.title = "PFC findings, recall", .name = "pfc_recall", .full = 1},
    {.title = "culprit flows, precision", .name = "culprit_precision", .full = 0.95},
    {.title = "culprit flows, recall", .name = "culprit_recall", .full = 0.95},
    {.title = "detection delay in windows, median",
     .name = "delay_windows_median",
     .unit = FigureUnit::kWindows,
     .full = 1},
    {.title = "detection delay in windows, 90th percentile",
     .name = "delay_windows_p90",
     .unit = FigureUnit::kWindows},
    {.title = "detection delay in windows, worst",
     .name = "delay_windows_worst",
     .unit = FigureUnit::kWindows,
     .full = 5},
    {.title = "time to detection in seconds, median",
     .name = "delay_seconds_median",
     .unit = FigureUnit::kSeconds},
    {.title = "time to detection in seconds, 90th percentile",
     .name = "delay_seconds_p90",
     .unit = FigureUnit::kSeconds},
    {.title = "findings in healthy runs",
     .name = "healthy_findings",
     .unit = FigureUnit::kFindings,
     .full = 0},
    {.title = "healthy runs with a false alarm", .name = "healthy_false_alarm", .at_most = true},
    {.title = "false alarms per 1,000 windows",
     .name = "false_alarms_per_1000_windows",
     .unit = FigureUnit::kPerWindows},
    {.title = "false alarms per fabric-day",
     .name = "false_alarms_per_day",
     .unit = FigureUnit::kPerDay},
    {.title = "suspicions per 1,000 windows",
     .name = "suspicions_per_1000_windows",
     .unit = FigureUnit::kPerWindows},
    {.title = "suspicions per fabric-day",
     .name = "suspicions_per_day",
     .unit = FigureUnit::kPerDay,
     .always = kMostSuspicionsPerDay},
    {.title = "affected jobs, precision", .name = "affected_jobs_precision"},
    {.title = "affected jobs, recall", .name = "affected_jobs_recall"},
    {.title = "hotspots, precision", .name = "hotspot_precision"},
    {.title = "congested queues, recall", .name = "hotspot_recall"},
    {.title = "anomalous windows, stable", .name = "anomaly_stability", .full = 0.92},
}};

const MeasureRow& RowOf(FindingMeasure measure) { return kRows[static_cast<size_t>(measure)]; }

std::optional<double> GoalOf(FindingMeasure measure, std::string_view view) {
  const MeasureRow& row = RowOf(measure);
  double goal = row.always;
  // Nothing is known about the telemetry of the view "all", so that no other goal applies.
  if (goal == kNone && view != "all") goal = view == "full" ? row.full : row.partial;
  return goal == kNone ? std::nullopt : std::optional(goal);
}

void Add(const v1::Hits& from, v1::Hits& into) {
  into.set_stated(into.stated() + from.stated());
  into.set_right(into.right() + from.right());
  into.set_of(into.of() + from.of());
  into.set_found(into.found() + from.found());
}

using KindCount = uint64_t KindCounts::*;  // one of the counts

class Figures {
 public:
  Figures(std::span<const RunFindings> runs, std::string_view view, const KindWeights& weights)
      : runs_(runs), view_(view), weights_(weights), kinds_(CountKinds(runs)) {}

  std::vector<Figure> Take() {
    AddDetection();
    AddSilentLoss();
    v1::Hits pfc;
    v1::Hits culprits;
    v1::Hits affected_jobs;
    v1::Hits hotspots;
    v1::Hits anomalies;
    for (const RunFindings& run : runs_) {
      Add(run.score->pfc_verdicts(), pfc);
      Add(run.score->hotspots(), hotspots);
      Add(run.score->anomaly_windows(), anomalies);
      for (const v1::FaultScore& fault : run.score->faults()) {
        Add(fault.culprits(), culprits);
        Add(fault.affected_jobs(), affected_jobs);
      }
    }
    AddHits(kPfcPrecision, kPfcRecall, pfc);
    AddHits(kCulpritPrecision, kCulpritRecall, culprits);
    AddDelays();
    AddHealthy();
    AddRates();
    AddHits(kVictimPrecision, kVictimRecall, affected_jobs);
    AddHits(kHotspotPrecision, kHotspotRecall, hotspots);
    AddShare(kAnomalyStability, anomalies.right(), anomalies.stated());
    std::ranges::stable_sort(figures_, {}, &Figure::measure);
    return std::move(figures_);
  }

 private:
  Figure* AddShare(FindingMeasure measure, uint64_t right, uint64_t of) {
    if (of == 0) return nullptr;
    const auto part = static_cast<double>(right);
    const auto all = static_cast<double>(of);
    return &figures_.emplace_back(Figure{.measure = measure,
                                         .goal = GoalOf(measure, view_),
                                         .value = part / all,
                                         .right = right,
                                         .of = of,
                                         .interval = WilsonInterval(part, all)});
  }
  void AddHits(FindingMeasure precision, FindingMeasure recall, const v1::Hits& hits) {
    AddShare(precision, hits.right(), hits.stated());
    AddShare(recall, hits.found(), hits.of());
  }
  void AddRate(FindingMeasure measure, uint64_t count, double exposure) {
    const Interval interval = PoissonInterval(count);
    std::optional<double> goal = GoalOf(measure, view_);
    // In runs that are so short that the goal allows less than one, a count shows nothing.
    if (goal && UnitOf(measure) == FigureUnit::kPerDay && *goal * exposure < 1) goal.reset();
    figures_.push_back(
        {.measure = measure,
         .goal = goal,
         .value = static_cast<double>(count) / exposure,
         .right = count,
         .exposure = exposure,
         .interval = Interval{.low = interval.low / exposure, .high = interval.high / exposure},
         .upper = PoissonUpperBound(count) / exposure});
  }
  void AddAmount(FindingMeasure measure, double value, uint64_t of) {
    figures_.push_back(
        {.measure = measure, .goal = GoalOf(measure, view_), .value = value, .of = of});
  }
  void AddDetection();
  void AddSilentLoss();
  void AddDelays();
  void AddHealthy();
  void AddRates();
  std::optional<double> Weighted(KindCount count) const;
  std::optional<double> WeightedPrecision() const;
  // Weights of the types that have runs.
  double WeightOf(const std::string& kind, const KindCounts& counts) const {
    const auto at = weights_.find(kind);
    return at == weights_.end() || counts.visible == 0 ? 0 : at->second;
  }

  const std::span<const RunFindings> runs_;
  const std::string_view view_;
  const KindWeights& weights_;
  const std::map<std::string, KindCounts> kinds_;
  std::vector<Figure> figures_;
};

void Figures::AddDetection() {
  KindCounts all;
  for (const auto& [kind, counts] : kinds_) {
    all.visible += counts.visible;
    all.detected += counts.detected;
    all.kind_right += counts.kind_right;
    all.place_right += counts.place_right;
    all.place_named += counts.place_named;
    all.below_limit += counts.below_limit;
    all.below_limit_detected += counts.below_limit_detected;
  }
  uint64_t wrong = 0;
  for (const RunFindings& run : runs_) {
    wrong += static_cast<uint64_t>(run.score->false_findings_size());
  }
  const uint64_t detected = all.detected + all.below_limit_detected;
  if (Figure* figure = AddShare(kPrecision, detected, detected + wrong)) {
    figure->weighted = WeightedPrecision();
  }
  const auto add = [&](FindingMeasure measure, KindCount count) {
    if (Figure* figure = AddShare(measure, all.*count, all.visible)) {
      figure->weighted = Weighted(count);
    }
  };
  add(kRecall, &KindCounts::detected);
  add(kKind, &KindCounts::kind_right);
  add(kPlace, &KindCounts::place_right);
  add(kPlaceListed, &KindCounts::place_named);
  if (all.below_limit > 0) AddShare(kRecallOfAll, detected, all.visible + all.below_limit);
}

void Figures::AddSilentLoss() {
  const auto at = kinds_.find(std::string(InfoOf(FaultKind::kGrayLoss).name));
  const bool has_limits = std::ranges::any_of(runs_, [](const RunFindings& run) {
    return std::ranges::any_of(run.score->faults(), [](const v1::FaultScore& fault) {
      return fault.detection_limit_frames() > 0;
    });
  });
  if (at == kinds_.end() || !has_limits) return;
  const KindCounts& counts = at->second;
  AddShare(kSilentAbove, counts.place_named, counts.visible);
  AddShare(kSilentBelow, counts.below_limit_named, counts.below_limit);
}

std::optional<double> Figures::Weighted(KindCount count) const {
  double right = 0;
  double of = 0;
  for (const auto& [kind, counts] : kinds_) {
    const double weight = WeightOf(kind, counts);
    if (weight == 0) continue;
    right += weight * static_cast<double>(counts.*count) / static_cast<double>(counts.visible);
    of += weight;
  }
  return of > 0 ? std::optional(right / of) : std::nullopt;
}

// As the unweighted precision, if each fault and its part of the false findings counted `weight` /
// `counts.faults` times. Healthy runs keep their number for each fault.
std::optional<double> Figures::WeightedPrecision() const {
  double right = 0;
  double wrong = 0;
  double weights = 0;
  double faults = 0;
  double wrong_in_healthy = 0;
  for (const auto& [kind, counts] : kinds_) {
    if (kind.empty()) {
      wrong_in_healthy = counts.false_findings;
      continue;
    }
    const auto of_kind = static_cast<double>(counts.faults);
    faults += of_kind;
    const auto at = weights_.find(kind);
    if (at == weights_.end() || counts.faults == 0) continue;
    weights += at->second;
    right +=
        at->second * static_cast<double>(counts.detected + counts.below_limit_detected) / of_kind;
    wrong += at->second * counts.false_findings / of_kind;
  }
  if (weights > 0) wrong += weights * wrong_in_healthy / faults;
  return right + wrong > 0 ? std::optional(right / (right + wrong)) : std::nullopt;
}

// The least value that at least this share of the values does not exceed (nearest rank).
double PercentileOf(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(values.size())));
  return values[std::max<size_t>(rank, 1) - 1];
}

void Figures::AddDelays() {
  constexpr double k90th = 0.9;
  std::vector<double> delays;
  std::vector<double> seconds;
  for (const auto& [kind, counts] : kinds_) {
    delays.insert(delays.end(), counts.delays.begin(), counts.delays.end());
    seconds.insert(seconds.end(), counts.seconds.begin(), counts.seconds.end());
  }
  if (!delays.empty()) {
    AddAmount(kMedianDelay, MedianOf(delays), delays.size());
    AddAmount(k90thDelay, PercentileOf(delays, k90th), delays.size());
    AddAmount(kWorstDelay, std::ranges::max(delays), delays.size());
  }
  if (!seconds.empty()) {
    AddAmount(kMedianSeconds, MedianOf(seconds), seconds.size());
    AddAmount(k90thSeconds, PercentileOf(seconds, k90th), seconds.size());
  }
}

void Figures::AddHealthy() {
  uint64_t runs = 0;
  uint64_t without = 0;
  uint64_t findings = 0;
  for (const RunFindings& run : runs_) {
    if (!run.kinds.empty()) continue;
    ++runs;
    without += run.score->false_findings().empty();
    findings += static_cast<uint64_t>(run.score->false_findings_size());
  }
  if (runs == 0) return;
  figures_.push_back(
      {.measure = kHealthyFindings,
       .goal = GoalOf(kHealthyFindings, view_),
       .value = static_cast<double>(findings),
       .right = without,
       .of = runs,
       .interval = WilsonInterval(static_cast<double>(without), static_cast<double>(runs))});
  AddShare(kHealthyAlarms, runs - without, runs);
}

void Figures::AddRates() {
  constexpr double kWindows = 1000;
  const Exposure exposure = ExposureOf(runs_);
  if (exposure.windows <= 0) return;  // a score from before exposures were written
  uint64_t wrong = 0;
  uint64_t suspicions = 0;
  for (const RunFindings& run : runs_) {
    wrong += static_cast<uint64_t>(run.score->false_findings_size());
    suspicions += run.score->suspicions().stated();
  }
  if (exposure.days > 0) {
    AddRate(kFalsePerDay, wrong, exposure.days);
    AddRate(kSuspicionsPerDay, suspicions, exposure.days);
  } else {
    AddRate(kFalsePerWindows, wrong, exposure.windows / kWindows);
    AddRate(kSuspicionsPerWindows, suspicions, exposure.windows / kWindows);
  }
}

}  // namespace

std::string_view TitleOf(FindingMeasure measure) { return RowOf(measure).title; }
std::string_view NameOf(FindingMeasure measure) { return RowOf(measure).name; }
FigureUnit UnitOf(FindingMeasure measure) { return RowOf(measure).unit; }
bool IsAtMost(FindingMeasure measure) {
  return UnitOf(measure) != FigureUnit::kRatio || RowOf(measure).at_most;
}

bool IsBelowLimit(const v1::FaultScore& fault) {
  return fault.visible() &&
         (fault.too_short() || fault.undetectable() ||
          static_cast<double>(fault.affected_frames()) < fault.detection_limit_frames());
}

bool Figure::Holds() const {
  constexpr double kRounding = 1e-9;
  if (!goal) return true;
  return IsAtMost(measure) ? value <= *goal + kRounding : value >= *goal - kRounding;
}

std::vector<RunFindings> FindingsOf(std::span<const v1::Score> scores, std::string_view view) {
  std::vector<RunFindings> runs;
  for (const v1::Score& score : scores) {
    for (const v1::ViewScore& of_view : score.views()) {
      if (of_view.view() != view || !of_view.has_findings()) continue;
      runs.push_back({.scenario = score.scenario(),
                      .kinds = {score.faults().begin(), score.faults().end()},
                      .score = &of_view.findings()});
    }
  }
  return runs;
}

Exposure ExposureOf(std::span<const RunFindings> runs) {
  constexpr double kSecondsPerDay = 86'400;
  Exposure sum;
  bool is_known = !runs.empty();
  for (const RunFindings& run : runs) {
    sum.windows += run.score->window_count();
    sum.days += run.score->fabric_seconds() / kSecondsPerDay;
    is_known &= run.score->fabric_seconds() > 0;
  }
  if (!is_known) sum.days = 0;
  return sum;
}

std::map<std::string, KindCounts> CountKinds(std::span<const RunFindings> runs) {
  std::map<std::string, KindCounts> kinds;
  for (const RunFindings& run : runs) {
    const std::vector<std::string> of_run =
        run.kinds.empty() ? std::vector{std::string()} : run.kinds;
    for (const std::string& kind : of_run) {
      const auto part = static_cast<double>(of_run.size());
      kinds[kind].runs += 1 / part;
      kinds[kind].false_findings += run.score->false_findings_size() / part;
    }
    for (const v1::FaultScore& fault : run.score->faults()) {
      KindCounts& counts = kinds[fault.kind()];
      ++counts.faults;
      if (!fault.visible()) continue;
      if (IsBelowLimit(fault)) {
        ++counts.below_limit;
        counts.below_limit_detected += fault.detected();
        counts.below_limit_named += fault.place_rank() > 0;
        continue;
      }
      ++counts.visible;
      counts.detected += fault.detected();
      counts.kind_right += fault.kind_right();
      counts.place_right += fault.place_right();
      counts.place_named += fault.place_rank() > 0;
      if (!fault.detected()) continue;
      counts.delays.push_back(fault.delay_windows());
      if (run.score->fabric_seconds() > 0) counts.seconds.push_back(fault.delay_seconds());
    }
  }
  for (auto& [kind, counts] : kinds) {
    std::ranges::sort(counts.delays);
    std::ranges::sort(counts.seconds);
  }
  return kinds;
}

std::map<uint32_t, ConcurrencyCounts> CountByConcurrency(std::span<const RunFindings> runs) {
  std::map<uint32_t, ConcurrencyCounts> counts;
  for (const RunFindings& run : runs) {
    const auto visible =
        static_cast<uint32_t>(std::ranges::count_if(run.score->faults(), &v1::FaultScore::visible));
    if (visible == 0 && !run.kinds.empty()) continue;
    ConcurrencyCounts& of_number = counts[visible];
    ++of_number.runs;
    of_number.visible += visible;
    for (const v1::FaultScore& fault : run.score->faults()) {
      of_number.detected += fault.detected();
      of_number.kind_right += fault.kind_right();
      of_number.place_right += fault.place_right();
    }
    of_number.false_findings += static_cast<uint64_t>(run.score->false_findings_size());
    of_number.false_runs += run.score->false_findings_size() > 0;
  }
  return counts;
}

std::vector<CauseCounts> CountCauses(std::span<const RunFindings> runs) {
  std::map<std::pair<std::string, std::string>, CauseCounts> counts;
  for (const RunFindings& run : runs) {
    std::set<std::pair<std::string, std::string>> in_run;
    for (const v1::FalseFinding& wrong : run.score->false_findings()) {
      const std::string cause = !wrong.benign_kind().empty()  ? "benign " + wrong.benign_kind()
                                : !wrong.cause_kind().empty() ? "effect of " + wrong.cause_kind()
                                                              : "nothing";
      CauseCounts& count = counts[{cause, wrong.kind()}];
      count.cause = cause;
      count.kind = wrong.kind();
      ++count.findings;
      count.runs += in_run.emplace(cause, wrong.kind()).second;
    }
  }
  std::vector<CauseCounts> sorted;
  for (auto& [key, count] : counts) sorted.push_back(std::move(count));
  std::ranges::stable_sort(sorted, std::ranges::greater(), &CauseCounts::findings);
  return sorted;
}

Confusion CountConfusion(std::span<const RunFindings> runs) {
  Confusion confusion;
  for (const RunFindings& run : runs) {
    if (run.kinds.empty()) {
      const auto& wrong = run.score->false_findings();
      const auto most_confident =
          std::ranges::max_element(wrong, {}, &v1::FalseFinding::confidence);
      ++confusion["healthy"][most_confident == wrong.end() ? "none" : most_confident->kind()];
    }
    for (const v1::FaultScore& fault : run.score->faults()) {
      if (!fault.visible()) continue;
      ++confusion[fault.kind()][fault.stated_kind().empty() ? "none" : fault.stated_kind()];
    }
  }
  return confusion;
}

std::vector<Figure> FiguresOf(std::span<const RunFindings> runs, std::string_view view,
                              const KindWeights& weights) {
  return Figures(runs, view, weights).Take();
}

}  // namespace rocescope
