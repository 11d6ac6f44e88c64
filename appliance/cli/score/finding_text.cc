// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

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

std::string GoalText(const Figure& figure) {
  if (!figure.goal) return "";
  return IsAmount(figure.measure) ? fmt::format("at most {}", *figure.goal)
                                  : fmt::format("at least {:g}", 100 * *figure.goal);
}

std::string ValueText(const Figure& figure) {
  if (figure.measure == FindingMeasure::kHealthyFindings) return fmt::format("{}", figure.value);
  return IsAmount(figure.measure) ? Windows(figure.value) : Percent(figure.value);
}

std::string CountText(const Figure& figure) {
  switch (figure.measure) {
    case FindingMeasure::kMedianDelay:
    case FindingMeasure::kWorstDelay:
      return Counted(figure.of, "fault");
    case FindingMeasure::kHealthyFindings:
      return fmt::format("none in {} of {}", figure.right, figure.of);
    default:
      return fmt::format("{} of {}", WithThousands(figure.right), WithThousands(figure.of));
  }
}

std::string RenderBars(std::span<const Figure> figures) {
  TextTable table({{"BAR"},
                   {"GOAL", Align::kRight},
                   {"FIGURE", Align::kRight},
                   {"COUNTS", Align::kRight},
                   {"95 % (WILSON)", Align::kRight},
                   {"WEIGHTED", Align::kRight},
                   {"MET"}});
  for (const Figure& figure : figures) {
    table.Add({std::string(TitleOf(figure.measure)), GoalText(figure), ValueText(figure),
               CountText(figure), figure.interval ? Percent(*figure.interval) : "",
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
  const uint64_t of_healthy = healthy == kinds.end() ? 0 : healthy->second.runs;
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
                   {"DETECTED", Align::kRight},
                   {"TYPE RIGHT", Align::kRight},
                   {"PLACE RIGHT", Align::kRight},
                   {"PLACE LISTED", Align::kRight},
                   {"DELAY (WINDOWS), MEDIAN", Align::kRight},
                   {"WORST", Align::kRight},
                   {"FALSE FINDINGS", Align::kRight}});
  for (const auto& [kind, counts] : CountKinds(runs)) {
    if (kind.empty()) {
      table.Add({"healthy", "", "", "", "", "", "", "", "", std::to_string(counts.false_findings)});
      continue;
    }
    const bool any = !counts.delays.empty();
    table.Add({kind, std::to_string(counts.faults), std::to_string(counts.visible),
               std::to_string(counts.detected), std::to_string(counts.kind_right),
               std::to_string(counts.place_right), std::to_string(counts.place_named),
               any ? Windows(MedianOf(std::vector(counts.delays))) : "",
               any ? Windows(counts.delays.back()) : "", std::to_string(counts.false_findings)});
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

// One run, with one line for each miss.
void AppendMisses(const RunFindings& run, std::string& text) {
  const auto line = [&](const std::string& what) {
    text += fmt::format("    {}: {}\n", run.scenario, what);
  };
  for (const v1::FaultScore& fault : run.score->faults()) {
    if (!fault.visible() || (fault.kind_right() && fault.place_right())) continue;
    const std::string truth = At(fault.kind(), fault.place());
    const std::string said =
        fault.stated_kind().empty() ? "nothing" : At(fault.stated_kind(), fault.stated_place());
    if (!fault.detected()) {
      line(fmt::format("{} was missed; reported instead: {}", truth, said));
    } else if (fault.place_right()) {
      line(fmt::format("{} was reported as {}", truth, fault.stated_kind()));
    } else {
      line(fmt::format("{} was located at {}{}", truth, fault.stated_place(),
                       fault.place_rank() > 0
                           ? fmt::format(" (the right place is number {})", fault.place_rank())
                           : ""));
    }
  }
  for (const v1::FalseFinding& wrong : run.score->false_findings()) {
    line(fmt::format("{} ({}) is false: the run {}", At(wrong.kind(), wrong.place()),
                     ConfidenceText(wrong.confidence()),
                     run.kind.empty() ? "is healthy" : "has a " + run.kind));
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

}  // namespace

FindingTables RenderFindings(std::span<const v1::Score> scores, const KindWeights& weights) {
  FindingTables out;
  for (const View& view : Views()) {
    const std::vector<RunFindings> runs = FindingsOf(scores, view.name);
    if (runs.empty()) continue;
    const std::vector<Figure> figures = FiguresOf(runs, view.name, weights);
    for (const Figure& figure : figures) out.all_hold &= figure.Holds();
    out.text += fmt::format("\nFAULTS, {} ({}), in {}; shares in percent\n\n", view.name,
                            view.title, Counted(runs.size(), "run"));
    out.text += RenderBars(figures) + (runs.size() > 1 ? TooFew(runs) : "") + RenderKinds(runs) +
                RenderConfusion(runs) + RenderBaselines(runs) + RenderMisses(runs);
  }
  return out;
}

}  // namespace rocescope
