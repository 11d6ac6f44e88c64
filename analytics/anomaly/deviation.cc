// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/deviation.h"

#include <cmath>

#include "analytics/anomaly/panel.h"

namespace rocescope {

bool IsTraffic(Metric metric) {
  return metric == Metric::kRxBytes || metric == Metric::kRxPackets || metric == Metric::kTxBytes ||
         metric == Metric::kTxPackets;
}

bool DependsOnLoad(Metric metric) {
  switch (metric) {
    case Metric::kPfcRx:
    case Metric::kPfcTx:
    case Metric::kPfcRxTime:
    case Metric::kPfcTxTime:
    case Metric::kEcnMarked:
    case Metric::kQueueBytes:
    case Metric::kQueueWatermark:
    case Metric::kBufferWatermark:
    case Metric::kCnpSent:
    case Metric::kCnpHandled:
    case Metric::kEcnMarkedRoce:
      return true;
    default:
      return IsTraffic(metric);
  }
}

double DistanceOf(const MetricDeviation& deviation, Duration window) {
  const Metric metric = deviation.metric;
  const double expected = Stretched(metric, window, deviation.expected);
  const double usual = Stretched(metric, window, deviation.expected + deviation.spread) - expected;
  const double distance = Stretched(metric, window, deviation.observed) - expected;
  return usual > 0 ? distance / usual : 0;
}

bool IsClearSymptom(const MetricDeviation& deviation, Duration window) {
  constexpr double kClear = 6;       // usual deviations
  constexpr double kClearState = 2;  // of a state, which has few values
  if (IsTraffic(deviation.metric)) return false;
  const double distance = std::abs(DistanceOf(deviation, window));
  const bool is_state = deviation.metric == Metric::kLinkUp ||
                        deviation.metric == Metric::kAdminUp ||
                        deviation.metric == Metric::kLinkSpeed;
  return distance >= (is_state ? kClearState : kClear);
}

int TrafficDirection(const Anomaly& anomaly) {
  double rose = 0, fell = 0;
  for (const MetricDeviation& one : anomaly.metrics) {
    if (IsTraffic(one.metric)) (one.observed > one.expected ? rose : fell) += one.share;
  }
  return rose > fell ? 1 : rose < fell ? -1 : 0;
}

}  // namespace rocescope
