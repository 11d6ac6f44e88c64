// SPDX-License-Identifier: BSD-3-Clause
// Relates anomalies to the episodes that explain them.
#pragma once

#include "analytics/anomaly/anomaly.h"
#include "topology/fabric.h"

namespace rocescope {

// `all` contains anomalies sorted by time, and the episodes of inferred jobs. Sets
// Anomaly::episode, and adds episodes of anomalies that began together without a job.
//
// An episode of a job explains an anomaly of one of its entities if the anomaly begins with a step
// of the episode in the same direction, and every other metric that deviates clearly also does so
// for other entities of the episode. A port that degrades while its job starts, pauses or ends thus
// remains an anomaly of its own.
void ExplainAnomalies(const topology::Fabric& fabric, Duration window, Anomalies& all);

}  // namespace rocescope
