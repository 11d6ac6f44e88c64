// SPDX-License-Identifier: BSD-3-Clause
// What the deviation of a metric says about its cause.
#pragma once

#include "analytics/anomaly/anomaly.h"

namespace rocescope {

// Bytes and packets that jobs send and receive.
bool IsTraffic(Metric metric);

// Traffic, and what it causes in a healthy fabric: queues, marks, notifications and pauses. Errors,
// drops and the state of a link do not depend on the load.
bool DependsOnLoad(Metric metric);

// Returns the distance from the expected value in usual deviations, on the scale of Stretched
// (panel.h).
double DistanceOf(const MetricDeviation& deviation, Duration window);

// Whether the metric deviates clearly without being traffic.
bool IsClearSymptom(const MetricDeviation& deviation, Duration window);

// 1: traffic rose, -1: it fell, 0: it did not deviate, or in both directions.
int TrafficDirection(const Anomaly& anomaly);

}  // namespace rocescope
