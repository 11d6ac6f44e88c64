// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr int kFew = 5;

// Returns "tx_discards 812 frames (expected 0)": the metric that deviates most, and the second one
// if it contributes at least kGoodPart.
std::string WhatOf(const v1::Anomaly& anomaly) {
  constexpr double kGoodPart = 0.25;
  std::string what;
  for (int i = 0; i < std::min(anomaly.metrics_size(), 2); ++i) {
    const v1::MetricDeviation& metric = anomaly.metrics(i);
    if (i > 0 && metric.share() < kGoodPart) break;
    what +=
        fmt::format("{}{} {:.0f} (expected {:.0f}) {}", i > 0 ? ", " : "", Visible(metric.metric()),
                    metric.observed(), metric.expected(), Visible(metric.unit()));
  }
  return what;
}

std::string PlaceOf(const v1::Anomaly& anomaly) {
  const std::string place = WordOf(anomaly.kind()) + " " + anomaly.place();
  if (!anomaly.has_priority()) return place;
  return fmt::format("{} priority {}", place, anomaly.priority());
}

uint64_t CountOfExplained(const v1::ReplayReport& report) {
  return static_cast<uint64_t>(std::ranges::count_if(
      report.anomalies().anomalies(), [](const v1::Anomaly& one) { return one.episode() != 0; }));
}

void AppendSingleAnomalies(const v1::ReplayReport& report, std::string& text) {
  std::vector<const v1::Anomaly*> anomalies;
  for (const v1::Anomaly& anomaly : report.anomalies().anomalies()) {
    if (anomaly.episode() == 0) anomalies.push_back(&anomaly);
  }
  if (anomalies.empty()) return;
  std::ranges::sort(anomalies, {}, [](const v1::Anomaly* one) {
    return std::tuple(one->probability(), Nanoseconds(one->start_time()), one->place(),
                      one->has_priority(), one->priority());
  });
  text += fmt::format(
      "ANOMALIES: {} with metrics outside the range of both their history and their peers; least "
      "likely first\n"
      "\n"
      "  An anomaly is not a fault; see FAULTS. CHANCE is the probability of such a window, "
      "estimated from history.\n"
      "\n",
      Counted(anomalies.size(), "period"));
  TextTable table({{"WHERE"},
                   {"SINCE", Align::kRight},
                   {"DURATION", Align::kRight},
                   {"CHANCE", Align::kRight},
                   {"DEVIATION IN THE MOST UNLIKELY WINDOW"}});
  int rows = 0;
  for (const v1::Anomaly* anomaly : anomalies) {
    if (rows++ == kFew) break;
    table.Add({PlaceOf(*anomaly), OffsetText(report, Nanoseconds(anomaly->start_time())),
               HumanDuration(Nanoseconds(anomaly->end_time()) - Nanoseconds(anomaly->start_time())),
               fmt::format("{:.0e}", anomaly->probability()), WhatOf(*anomaly)});
  }
  text += table.Deferred(2);
  if (anomalies.size() > kFew) {
    text += fmt::format("  and {} more\n", anomalies.size() - kFew);
  }
  text += "\n";
}

void AppendEpisodes(const v1::ReplayReport& report, std::string& text) {
  const auto& episodes = report.anomalies().episodes();
  if (episodes.empty()) return;
  text += fmt::format(
      "EPISODES: {} of traffic or other metrics; they explain {}\n"
      "\n"
      "  Ports whose traffic changes together form an inferred job, which is a guess. Times are in "
      "UTC.\n"
      "\n",
      Counted(static_cast<uint64_t>(episodes.size()), "change"),
      Counted(CountOfExplained(report), "other anomaly"));
  for (int i = 0; i < std::min(episodes.size(), kMaxRows); ++i) {
    text += "  " + Visible(episodes[i].sentence()) + "\n";
  }
  AppendMore(episodes.size(), "episode", text);
  text += "\n";
}

}  // namespace

void AppendAnomalies(const v1::ReplayReport& report, std::string& text) {
  AppendSingleAnomalies(report, text);
  AppendEpisodes(report, text);
}

void AppendBriefAnomalies(const v1::ReplayReport& report, std::string& text) {
  const uint64_t explained = CountOfExplained(report);
  const uint64_t single = static_cast<uint64_t>(report.anomalies().anomalies_size()) - explained;
  const auto episodes = static_cast<uint64_t>(report.anomalies().episodes_size());
  if (single > 0) {
    text += fmt::format(
        "ANOMALIES: {} with unusual metrics; --section anomalies lists the least likely ones\n",
        Counted(single, "period"));
  }
  if (episodes > 0) {
    text +=
        fmt::format("EPISODES: {} of traffic or other metrics; --section anomalies lists them\n",
                    Counted(episodes, "change"));
  }
  if (single + episodes > 0) text += "\n";
}

}  // namespace rocescope
