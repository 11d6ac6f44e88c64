// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "appliance/api/message_value.h"
#include "appliance/common/report/entity_place.h"
#include "appliance/common/report/episode_report.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

void FillAnomaly(const topology::Fabric& fabric, const Anomaly& anomaly, v1::Anomaly& out) {
  const Entity& entity = anomaly.entity;
  out.set_kind(EnumOf<v1::Anomaly::Kind>(InfoOf(entity.kind).name));
  out.set_place(PlaceOf(fabric, entity));
  if (entity.priority != CounterEntity::kAllPriorities) out.set_priority(entity.priority);
  *out.mutable_start_time() = TimestampMessage(anomaly.from);
  *out.mutable_end_time() = TimestampMessage(anomaly.until);
  out.set_window_count(anomaly.windows);
  out.set_peer_count(anomaly.peers);
  *out.mutable_peak_time() = TimestampMessage(anomaly.peak);
  out.set_score(anomaly.Score());
  out.set_probability(anomaly.probability);
  for (size_t i = 0; i < kAnomalyModels; ++i) {
    if (anomaly.models[i]) out.add_models(EnumOf<v1::Anomaly::Model>(kAnomalyModelNames[i]));
  }
  for (const MetricDeviation& deviation : anomaly.metrics) {
    v1::MetricDeviation& metric = *out.add_metrics();
    metric.set_metric(std::string(InfoOf(deviation.metric).name));
    metric.set_unit(std::string(InfoOf(deviation.metric).unit));
    metric.set_observed(deviation.observed);
    metric.set_expected(deviation.expected);
    metric.set_spread(deviation.spread);
    metric.set_share(deviation.share);
  }
  out.set_episode(anomaly.episode);
}

}  // namespace

void FillAnomalies(const Snapshot& snapshot, v1::ReplayReport& report) {
  v1::Anomalies& out = *report.mutable_anomalies();
  const Anomalies& all = *snapshot.anomalies;
  for (const Anomaly& anomaly : all.anomalies) {
    FillAnomaly(*snapshot.fabric, anomaly, *out.add_anomalies());
  }
  FillEpisodes(snapshot, out);
  for (const PhaseChange& change : all.phase_changes) {
    v1::PhaseChange& one = *out.add_phase_changes();
    one.set_role(NameOf(change.role));
    *one.mutable_start_time() = TimestampMessage(change.from);
    *one.mutable_end_time() = TimestampMessage(change.until);
    one.set_changed_entity_count(change.entities);
    one.set_total_entity_count(change.of);
  }
  v1::AnomalyStatistics& statistics = *out.mutable_statistics();
  statistics.set_evaluated_count(all.statistics.judged);
  statistics.set_unevaluated_count(all.statistics.unjudged);
  statistics.set_stable_count(all.statistics.stable);
  statistics.set_unstable_count(all.statistics.unstable);
  statistics.set_shared_count(all.statistics.shared);
  statistics.set_refused_count(all.statistics.refused);
  statistics.set_fit_count(all.statistics.fits);
  statistics.set_dropped_episode_count(all.statistics.forgotten_episodes);
}

}  // namespace rocescope
