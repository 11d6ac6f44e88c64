// SPDX-License-Identifier: BSD-3-Clause
// The episodes of the anomaly detection as messages.
#pragma once

#include <string>

#include "analytics/engine/snapshot.h"

namespace rocescope {

namespace v1 {
class Anomalies;
class AnomalyEpisode;
}  // namespace v1

// Appends the snapshot's episodes.
void FillEpisodes(const Snapshot& snapshot, v1::Anomalies& out);

// Returns for example "inferred job 2 paused on 12 ports from 08:12:15 to 08:14:00". `job` is the
// name of the known job; empty: unknown. Times are in UTC.
std::string EpisodeSentence(const topology::Fabric& fabric, const Episode& episode,
                            const std::string& job);

}  // namespace rocescope
