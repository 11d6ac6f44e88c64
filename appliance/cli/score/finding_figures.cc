// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/finding_figures.h"

#include <algorithm>
#include <array>

#include "base/median.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

using enum FindingMeasure;

struct MeasureRow {
  std::string_view title;
  double full = -1;     // goal with all telemetry; -1: none
  double partial = -1;  // goal with partial telemetry
};

constexpr std::array<MeasureRow, kFindingMeasures> kRows = {{
    {.title = "detection precision", .full = 0.99, .partial = 0.95},
    {.title = "detection recall", .full = 0.995, .partial = 0.97},
    {.title = "fault type right", .full = 0.97},
    {.title = "first element right", .full = 0.98, .partial = 0.9},
    {.title = "PFC findings, precision", .full = 0.97},
    {.title = "PFC findings, recall", .full = 1},
    {.title = "culprit flows, precision", .full = 0.95},
    {.title = "culprit flows, recall", .full = 0.95},
    {.title = "detection delay in windows, median", .full = 1},
    {.title = "detection delay in windows, worst", .full = 5},
    {.title = "findings in healthy runs", .full = 0},
    {.title = "affected jobs, precision"},
    {.title = "affected jobs, recall"},
    {.title = "hotspots, precision"},
    {.title = "congested queues, recall"},
    {.title = "anomalous windows, stable", .full = 0.92},
}};

std::optional<double> GoalOf(FindingMeasure measure, std::string_view view) {
  const MeasureRow& row = kRows[static_cast<size_t>(measure)];
  if (view == "all") return std::nullopt;  // empty if unknown
  const double goal = view == "full" ? row.full : row.partial;
  return goal < 0 ? std::nullopt : std::optional(goal);
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
    AddHits(kVictimPrecision, kVictimRecall, affected_jobs);
    AddHits(kHotspotPrecision, kHotspotRecall, hotspots);
    AddShare(kAnomalyStability, anomalies.right(), anomalies.stated());
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
                                         .interval = WilsonInterval(part, all),
                                         .weighted = {}});
  }
  void AddHits(FindingMeasure precision, FindingMeasure recall, const v1::Hits& hits) {
    AddShare(precision, hits.right(), hits.stated());
    AddShare(recall, hits.found(), hits.of());
  }
  void AddDetection();
  void AddDelays();
  void AddHealthy();
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
  }
  uint64_t wrong = 0;
  for (const RunFindings& run : runs_) {
    wrong += static_cast<uint64_t>(run.score->false_findings_size());
  }
  if (Figure* figure = AddShare(kPrecision, all.detected, all.detected + wrong)) {
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

std::optional<double> Figures::WeightedPrecision() const {
  double right = 0;
  double wrong = 0;
  double weights = 0;
  double faulty_runs = 0;
  double wrong_in_healthy = 0;
  for (const auto& [kind, counts] : kinds_) {
    if (kind.empty()) {
      wrong_in_healthy = static_cast<double>(counts.false_findings);
      continue;
    }
    faulty_runs += static_cast<double>(counts.runs);
    const double weight = WeightOf(kind, counts);
    if (weight == 0 || counts.runs == 0) continue;
    weights += weight;
    right += weight * static_cast<double>(counts.detected) / static_cast<double>(counts.visible);
    wrong += weight * static_cast<double>(counts.false_findings) / static_cast<double>(counts.runs);
  }
  if (weights > 0) wrong += weights * wrong_in_healthy / faulty_runs;
  return right + wrong > 0 ? std::optional(right / (right + wrong)) : std::nullopt;
}

void Figures::AddDelays() {
  std::vector<double> delays;
  for (const auto& [kind, counts] : kinds_) {
    delays.insert(delays.end(), counts.delays.begin(), counts.delays.end());
  }
  if (delays.empty()) return;
  const auto add = [&](FindingMeasure measure, double value) {
    figures_.push_back({.measure = measure,
                        .goal = GoalOf(measure, view_),
                        .value = value,
                        .right = 0,
                        .of = delays.size(),
                        .interval = {},
                        .weighted = {}});
  };
  add(kMedianDelay, MedianOf(delays));
  add(kWorstDelay, std::ranges::max(delays));
}

void Figures::AddHealthy() {
  uint64_t runs = 0;
  uint64_t without = 0;
  uint64_t findings = 0;
  for (const RunFindings& run : runs_) {
    if (!run.kind.empty()) continue;
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
       .interval = WilsonInterval(static_cast<double>(without), static_cast<double>(runs)),
       .weighted = {}});
}

}  // namespace

std::string_view TitleOf(FindingMeasure measure) {
  return kRows[static_cast<size_t>(measure)].title;
}

bool Figure::Holds() const {
  constexpr double kRounding = 1e-9;
  if (!goal) return true;
  return IsAmount(measure) ? value <= *goal + kRounding : value >= *goal - kRounding;
}

std::vector<RunFindings> FindingsOf(std::span<const v1::Score> scores, std::string_view view) {
  std::vector<RunFindings> runs;
  for (const v1::Score& score : scores) {
    for (const v1::ViewScore& of_view : score.views()) {
      if (of_view.view() != view || !of_view.has_findings()) continue;
      runs.push_back({.scenario = score.scenario(),
                      .kind = score.faults().empty() ? "" : score.faults(0),
                      .score = &of_view.findings()});
    }
  }
  return runs;
}

std::map<std::string, KindCounts> CountKinds(std::span<const RunFindings> runs) {
  std::map<std::string, KindCounts> kinds;
  for (const RunFindings& run : runs) {
    KindCounts& of_run = kinds[run.kind];
    ++of_run.runs;
    of_run.false_findings += static_cast<uint64_t>(run.score->false_findings_size());
    for (const v1::FaultScore& fault : run.score->faults()) {
      KindCounts& counts = kinds[fault.kind()];
      ++counts.faults;
      if (!fault.visible()) continue;
      ++counts.visible;
      counts.detected += fault.detected();
      counts.kind_right += fault.kind_right();
      counts.place_right += fault.place_right();
      counts.place_named += fault.place_rank() > 0;
      if (fault.detected()) counts.delays.push_back(fault.delay_windows());
    }
  }
  for (auto& [kind, counts] : kinds) std::ranges::sort(counts.delays);
  return kinds;
}

Confusion CountConfusion(std::span<const RunFindings> runs) {
  Confusion confusion;
  for (const RunFindings& run : runs) {
    if (run.kind.empty()) {
      const auto& wrong = run.score->false_findings();
      const auto surest = std::ranges::max_element(wrong, {}, &v1::FalseFinding::confidence);
      ++confusion["healthy"][surest == wrong.end() ? "none" : surest->kind()];
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
