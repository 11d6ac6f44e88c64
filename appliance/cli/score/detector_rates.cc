// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/detector_rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "analytics/diagnosis/detectors.h"
#include "appliance/cli/score/poisson.h"
#include "appliance/common/report/table.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

std::string RateText(double rate) {
  constexpr double kMany = 1000;
  return rate < kMany ? fmt::format("{:.3g}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace

std::vector<DetectorRate> DetectorRatesOf(std::span<const RunFindings> runs) {
  std::vector<DetectorRate> rates;
  DetectorRate all;
  for (const Detector& detector : kDetectors) {
    rates.push_back({.detector = detector.name, .stated = detector.false_alarms_per_day});
    all.stated += detector.false_alarms_per_day;
  }
  const auto count = [&](const std::string& detector, uint64_t DetectorRate::* what) {
    ++(all.*what);
    const auto at = std::ranges::find(rates, std::string_view(detector), &DetectorRate::detector);
    if (at != rates.end()) ++((*at).*what);
  };
  for (const RunFindings& run : runs) {
    for (const v1::JudgedFinding& finding : run.score->judged()) {
      if (!finding.suspected()) count(finding.detector(), &DetectorRate::findings);
    }
    for (const v1::FalseFinding& finding : run.score->false_findings()) {
      count(finding.detector(), &DetectorRate::false_findings);
    }
  }
  rates.push_back(all);
  const double days = ExposureOf(runs).days;
  for (DetectorRate& rate : rates) {
    if (days <= 0) break;
    const Interval mean = PoissonInterval(rate.false_findings);
    rate.measured = static_cast<double>(rate.false_findings) / days;
    rate.interval = Interval{.low = mean.low / days, .high = mean.high / days};
  }
  return rates;
}

std::string RenderDetectorRates(std::span<const DetectorRate> rates) {
  TextTable table({{"DETECTOR"},
                   {"FINDINGS", Align::kRight},
                   {"FALSE", Align::kRight},
                   {"FALSE PER FABRIC-DAY", Align::kRight},
                   {"95 % INTERVAL", Align::kRight},
                   {"STATED", Align::kRight},
                   {"EXCEEDED"}});
  for (const DetectorRate& rate : rates) {
    if (!rate.interval) continue;
    table.Add({rate.detector.empty() ? "all" : std::string(rate.detector),
               WithThousands(rate.findings), WithThousands(rate.false_findings),
               RateText(*rate.measured),
               fmt::format("{} to {}", RateText(rate.interval->low), RateText(rate.interval->high)),
               fmt::format("{:g}", rate.stated), rate.IsViolated() ? "yes !" : "no"});
  }
  return table.empty() ? "" : "\n" + table.Render(2);
}

}  // namespace rocescope
