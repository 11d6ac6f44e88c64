// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "appliance/common/report/entity_place.h"
#include "appliance/common/report/job_report.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

void FillAnomaly(const topology::Fabric& fabric, const Anomaly& anomaly, v1::Anomaly& out) {
  const Entity& entity = anomaly.entity;
  out.set_kind(std::string(InfoOf(entity.kind).name));
  out.set_place(PlaceOf(fabric, entity));
  out.set_priority(entity.priority == CounterEntity::kAllPriorities ? -1 : entity.priority);
  out.set_from_ns(ToNanoseconds(anomaly.from));
  out.set_until_ns(ToNanoseconds(anomaly.until));
  out.set_windows(anomaly.windows);
  out.set_peers(anomaly.peers);
  out.set_peak_ns(ToNanoseconds(anomaly.peak));
  out.set_score(anomaly.Score());
  out.set_probability(anomaly.probability);
  for (size_t i = 0; i < kAnomalyModels; ++i) {
    if (anomaly.models[i]) out.add_models(std::string(kAnomalyModelNames[i]));
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
}

}  // namespace

void FillAnomalies(const Snapshot& snapshot, v1::ReplayReport& report) {
  v1::Anomalies& out = *report.mutable_anomalies();
  const Anomalies& all = *snapshot.anomalies;
  for (const Anomaly& anomaly : all.anomalies) {
    FillAnomaly(*snapshot.fabric, anomaly, *out.add_anomalies());
  }
  for (const PhaseChange& change : all.phase_changes) {
    v1::PhaseChange& one = *out.add_phase_changes();
    one.set_role(NameOf(change.role));
    one.set_from_ns(ToNanoseconds(change.from));
    one.set_until_ns(ToNanoseconds(change.until));
    one.set_entities(change.entities);
    one.set_of(change.of);
  }
  out.set_judged(all.statistics.judged);
  out.set_unjudged(all.statistics.unjudged);
  out.set_stable(all.statistics.stable);
  out.set_unstable(all.statistics.unstable);
  out.set_shared(all.statistics.shared);
  out.set_refused(all.statistics.refused);
  out.set_fits(all.statistics.fits);
}

}  // namespace rocescope
