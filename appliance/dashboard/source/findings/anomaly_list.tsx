// SPDX-License-Identifier: BSD-3-Clause
// Behaviour that differs from the entity's past or its peers: a hint, not a fault.
import type { Anomaly, ListAnomaliesResponse, PhaseChange } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { count, duration, inUnit } from "../format/quantities";
import { words } from "../format/words";
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
    { title: "kind", cell: (odd) => words(odd.kind), sort: (odd) => odd.kind },
    { title: "place", cell: (odd) => <><Place name={odd.place} />{odd.priority >= 0 && ` priority ${odd.priority}`}</>, sort: (odd) => odd.place },
    { title: "since", cell: (odd) => <Moment ns={odd.from_ns} reference={reference} />, sort: (odd) => Number(odd.from_ns) },
    { title: "for", numeric: true, cell: (odd) => duration(nsBetween(odd.from_ns, odd.until_ns)) },
    { title: "score", numeric: true, cell: (odd) => <Share value={odd.score} />, sort: (odd) => odd.score },
    { title: "largest deviations", cell: metricsOf },
    { title: "peers", numeric: true, cell: (odd) => (odd.peers === 0 ? "none" : count(odd.peers)) },
  ];
}

function phaseSentence(change: PhaseChange, reference: Reference) {
  return (
    <li key={`${change.role} ${change.from_ns}`}>
      <Moment ns={change.from_ns} reference={reference} />: {change.entities} of {change.of}{" "}
      {words(change.role)} changed their behaviour together for{" "}
      {duration(nsBetween(change.from_ns, change.until_ns))}: a workload change, not an anomaly.
    </li>
  );
}

export function AnomalyList({ answer, reference }: { answer: ListAnomaliesResponse; reference: Reference }) {
  const value = answer.anomalies;
  if (!value) return <p class="muted">No anomaly detection: there is no topology or there are no counters.</p>;
  return (
    <>
      <p class="muted">
        {count(value.judged)} windows of ports, NICs, GPUs and hosts were evaluated;{" "}
        {count(value.unjudged)} could not be evaluated because they have no history.
      </p>
      {value.anomalies.length === 0
        ? <p>No anomalies found.</p>
        : <Table caption="Entities with anomalous behaviour" columns={anomalyColumns(reference)} rows={value.anomalies}
            keyOf={(odd) => `${odd.place} ${odd.priority} ${odd.from_ns} ${odd.kind}`} most={20} />}
      {value.phase_changes.length > 0 && (
        <ul class="events">{value.phase_changes.slice(0, 10).map((change) => phaseSentence(change, reference))}</ul>
      )}
    </>
  );
}
