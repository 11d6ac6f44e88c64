// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/job_effects.h"

#include <algorithm>
#include <cmath>

namespace rocescope {
namespace {

constexpr size_t kFewest = 4;          // iterations on each side of a comparison
constexpr double kSlower = 1.02;       // ratio of iteration times
constexpr double kDeviations = 2;      // standard errors of the difference
constexpr double kOneLonger = 1.25;    // ratio of one iteration to the longest of the others
constexpr double kStalledAfter = 2;    // typical iterations without the start of the next one

struct Lengths {
  double mean = 0;   // of the middle half, which interludes and single stalls do not change
  double error = 0;  // standard error of the mean
  double longest = 0;
};

Lengths LengthsOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t quarter = values.size() / 4;
  const auto count = static_cast<double>(values.size() - 2 * quarter);
  double sum = 0;
  double squares = 0;
  for (size_t i = quarter; i < values.size() - quarter; ++i) sum += values[i];
  const double mean = sum / count;
  for (size_t i = quarter; i < values.size() - quarter; ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  return {.mean = mean, .error = std::sqrt(squares) / count, .longest = values.back()};
}

}  // namespace

JobEffects::JobEffects(const DiagnosisInput& input)
    : input_(input), pattern_of_(input.parts().attribution.jobs.size()) {
  for (const JobIterationPattern& pattern : input.parts().iteration_patterns) {
    if (pattern.job < pattern_of_.size()) pattern_of_[pattern.job] = &pattern;
    reached_ = std::max(reached_, pattern.last);
  }
}

bool JobEffects::HasLoss(const FlowKey& flow, Timestamp from, Timestamp until) const {
  const auto& losses = input_.parts().losses.losses();
  const auto at = losses.find(flow);
  if (at == losses.end()) return false;
  const MetricStore& metrics = input_.parts().metrics;
  return std::ranges::any_of(at->second, [&](const LossWindow& loss) {
    return loss.retransmitted + loss.refused > 0 && metrics.StartOf(loss.window + 1) > from &&
           metrics.StartOf(loss.window) < until;
  });
}

Slowdown JobEffects::SlowdownOf(uint32_t job, Timestamp from, Timestamp until) const {
  if (job >= pattern_of_.size() || pattern_of_[job] == nullptr) return Slowdown::kUnknown;
  const std::vector<IterationSpan>& spans = pattern_of_[job]->spans;
  std::vector<double> during;
  std::vector<double> before;
  std::vector<double> after;
  for (const IterationSpan& span : spans) {
    const auto length = static_cast<double>((span.end - span.begin).count());
    if (span.end <= from) {
      before.push_back(length);
    } else if (span.begin >= until) {
      after.push_back(length);
    } else {
      during.push_back(length);
    }
  }
  // Other faults can have started since, so that the time before the fault is preferred.
  const std::vector<double>& usual = before.size() >= kFewest ? before : after;
  if (usual.size() < kFewest) return Slowdown::kUnknown;
  const Lengths outside = LengthsOf(usual);
  const bool is_stalled =
      !spans.empty() && spans.back().end < until &&
      static_cast<double>((std::min(reached_, until) - std::max(from, spans.back().end)).count()) >
          kStalledAfter * std::max(outside.mean, outside.longest);
  if (is_stalled) return Slowdown::kSlower;
  if (during.empty()) return Slowdown::kUnknown;
  const Lengths inside = LengthsOf(during);
  if (inside.longest > kOneLonger * outside.longest) return Slowdown::kSlower;
  if (during.size() < kFewest) return Slowdown::kNone;
  const double error = std::hypot(inside.error, outside.error);
  const bool is_slower = inside.mean >= kSlower * outside.mean &&
                         inside.mean - outside.mean > kDeviations * error;
  return is_slower ? Slowdown::kSlower : Slowdown::kNone;
}

}  // namespace rocescope
