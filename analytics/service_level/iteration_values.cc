// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/iteration_values.h"

#include <algorithm>
#include <limits>
#include <set>

#include "analytics/metric/series.h"
#include "analytics/service_level/window_share.h"

namespace rocescope {
namespace {

constexpr double kNoIterationValue = std::numeric_limits<double>::quiet_NaN();

double Seconds(Duration duration) { return static_cast<double>(duration.count()) / 1e9; }

double SkewIn(const JobIterationPattern& iteration_pattern, const IterationSpan& iteration) {
  if (!iteration_pattern.straggler) return 0;
  const Straggler& waited = *iteration_pattern.straggler;
  if (iteration.begin < waited.from || iteration.begin >= waited.until) return 0;
  return Seconds(waited.lateness) / Seconds(iteration_pattern.period);
}

double ValueOf(const JobIterationPattern& iteration_pattern, const IterationSpan& iteration,
               ServiceIndicator indicator) {
  const Duration length = iteration.end - iteration.begin;
  switch (indicator) {
    case ServiceIndicator::kIterationTime:
      return static_cast<double>(length.count());
    case ServiceIndicator::kIterationRate:
      return 1 / Seconds(length);
    case ServiceIndicator::kBusBandwidth: {
      const double bandwidth = BusBandwidth(iteration_pattern, iteration);
      return bandwidth > 0 ? bandwidth : kNoIterationValue;
    }
    case ServiceIndicator::kSkew:
      return SkewIn(iteration_pattern, iteration);
    default:
      return kNoIterationValue;
  }
}

}  // namespace

double BusBandwidth(const JobIterationPattern& iteration_pattern, const IterationSpan& iteration) {
  if (iteration.sending <= Duration::zero()) return 0;
  double bytes = 0;
  std::set<uint32_t> members;
  for (const Collective& collective : iteration_pattern.collectives) {
    bytes += static_cast<double>(collective.bytes);
    for (const std::vector<uint32_t>& group : collective.groups) {
      members.insert(group.begin(), group.end());
    }
  }
  if (members.empty()) return 0;
  return 8 * bytes / static_cast<double>(members.size()) / Seconds(iteration.sending);
}

std::vector<double> IterationValues(const JobIterationPattern& iteration_pattern,
                                    std::span<const IterationSpan> spans,
                                    ServiceIndicator indicator, Duration window, int64_t from,
                                    int64_t until) {
  std::vector<double> sums(static_cast<size_t>(std::max<int64_t>(0, until - from)));
  std::vector<double> covered(sums.size());
  for (const IterationSpan& span : spans) {
    if (span.end <= span.begin) continue;
    const double value = ValueOf(iteration_pattern, span, indicator);
    if (!HasValue(value)) continue;
    const int64_t first = std::max(from, NumberOfWindow(span.begin, window));
    const int64_t last = std::min(until - 1, NumberOfWindow(span.end - Duration(1), window));
    for (int64_t number = first; number <= last; ++number) {
      const Timestamp begin = Timestamp(number * window);
      const double overlap =
          Seconds(std::min(span.end, begin + window) - std::max(span.begin, begin));
      sums[static_cast<size_t>(number - from)] += overlap * value;
      covered[static_cast<size_t>(number - from)] += overlap;
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = covered[i] * 2 >= Seconds(window) ? sums[i] / covered[i] : kNoIterationValue;
  }
  return sums;
}

}  // namespace rocescope
