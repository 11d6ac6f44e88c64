// SPDX-License-Identifier: BSD-3-Clause
// Behaviour that differs from the entity's past or its peers: a hint, not a fault.
import type { Anomaly, ListAnomaliesResponse, PhaseChange } from "../api/messages";
import { nsBetween, sortKey, type Reference } from "../format/moments";
import { count, duration, inUnit } from "../format/quantities";
import { enumWords, words } from "../format/words";
import { Truncated } from "../parts/await";
import { Moment, Place, Share } from "../parts/names";
import { Table, type Column } from "../parts/table";

function metricsOf(anomaly: Anomaly): string {
  return anomaly.metrics
    .slice(0, 2)
    .map(({ metric, unit, observed, expected }) =>
      `${words(metric)} ${inUnit(observed, unit)}, expected ${inUnit(expected, unit)}`)
    .join("; ");
}

function anomalyColumns(reference: Reference): Column<Anomaly>[] {
  return [
    { title: "kind", cell: (anomaly) => enumWords(anomaly.kind), sort: (anomaly) => anomaly.kind },
    { title: "place", cell: (anomaly) => <><Place name={anomaly.place} />{anomaly.priority !== undefined && ` priority ${anomaly.priority}`}</>, sort: (anomaly) => anomaly.place },
    { title: "since", cell: (anomaly) => <Moment time={anomaly.start_time} reference={reference} />, sort: (anomaly) => sortKey(anomaly.start_time) },
    { title: "for", numeric: true, cell: (anomaly) => duration(nsBetween(anomaly.start_time, anomaly.end_time)) },
    { title: "score", numeric: true, cell: (anomaly) => <Share value={anomaly.score} />, sort: (anomaly) => anomaly.score },
    { title: "largest deviations", cell: metricsOf },
    { title: "peers", numeric: true, cell: (anomaly) => (anomaly.peer_count === 0 ? "none" : count(anomaly.peer_count)) },
  ];
}

function phaseSentence(change: PhaseChange, reference: Reference) {
  return (
    <li key={`${change.role} ${change.start_time}`}>
      <Moment time={change.start_time} reference={reference} />: {change.changed_entity_count} of {change.total_entity_count}{" "}
      {words(change.role)} changed their behaviour together for{" "}
      {duration(nsBetween(change.start_time, change.end_time))}: a workload change, not an anomaly.
    </li>
  );
}

export function AnomalyList({ answer, reference }: { answer: ListAnomaliesResponse; reference: Reference }) {
  const { anomalies, phase_changes, statistics } = answer;
  if (!statistics) return <p class="muted">No anomaly detection: there is no topology or there are no counters.</p>;
  return (
    <>
      <p class="muted">
        {count(statistics.evaluated_count)} windows of ports, NICs, GPUs and hosts were evaluated;{" "}
        {count(statistics.unevaluated_count)} could not be evaluated because they have no history.
      </p>
      {anomalies.length === 0
        ? <p>No anomalies found.</p>
        : <Table caption="Entities with anomalous behaviour" columns={anomalyColumns(reference)} rows={anomalies}
            keyOf={(anomaly) => `${anomaly.place} ${anomaly.priority} ${anomaly.start_time} ${anomaly.kind}`} most={20} />}
      <Truncated shown={anomalies.length} total={answer.total_size} />
      {phase_changes.length > 0 && (
        <ul class="events">{phase_changes.slice(0, 10).map((change) => phaseSentence(change, reference))}</ul>
      )}
    </>
  );
}
