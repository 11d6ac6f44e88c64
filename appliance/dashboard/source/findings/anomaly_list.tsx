// SPDX-License-Identifier: BSD-3-Clause
// Behaviour that differs from the entity's past or its peers: a hint, not a fault.
import { useMemo } from "preact/hooks";
import type { Anomaly, AnomalyEpisode, Finding, ListAnomaliesResponse, PhaseChange } from "../api/messages";
import { nsBetween, sortKey, type Reference } from "../format/moments";
import { count, duration, inUnit } from "../format/quantities";
import { enumWords, words } from "../format/words";
import { Truncated } from "../parts/await";
import { Moment, Place, Share } from "../parts/names";
import { Table, type Column } from "../parts/table";
import { groupByFinding, type Grouped } from "./concurrent";
import { findingKey, hrefOfFinding } from "./finding_id";
import { shortTitle } from "./titles";

function metricsOf(anomaly: Anomaly): string {
  return anomaly.metrics
    .slice(0, 2)
    .map(({ metric, unit, observed, expected }) =>
      `${words(metric)} ${inUnit(observed, unit)}, expected ${inUnit(expected, unit)}`)
    .join("; ");
}

function anomalyColumns(reference: Reference): Column<Anomaly>[] {
  return [
    { title: "kind", cell: (anomaly) => enumWords(anomaly.kind), sort: (anomaly) => anomaly.kind, value: (anomaly) => enumWords(anomaly.kind) },
    { title: "place", cell: (anomaly) => <><Place name={anomaly.place} />{anomaly.priority !== undefined && ` priority ${anomaly.priority}`}</>, sort: (anomaly) => anomaly.place, value: (anomaly) => `${anomaly.place}${anomaly.priority === undefined ? "" : ` priority ${anomaly.priority}`}` },
    { title: "since", cell: (anomaly) => <Moment time={anomaly.start_time} reference={reference} />, sort: (anomaly) => sortKey(anomaly.start_time), value: (anomaly) => anomaly.start_time },
    { title: "for", numeric: true, unit: "ns", cell: (anomaly) => duration(nsBetween(anomaly.start_time, anomaly.end_time)), sort: (anomaly) => nsBetween(anomaly.start_time, anomaly.end_time) },
    { title: "score", numeric: true, unit: "0 to 1", cell: (anomaly) => <Share value={anomaly.score} />, sort: (anomaly) => anomaly.score },
    { title: "largest deviations", cell: metricsOf },
    { title: "peers", numeric: true, cell: (anomaly) => (anomaly.peer_count === 0 ? "none" : count(anomaly.peer_count)), value: (anomaly) => anomaly.peer_count },
  ];
}

function AnomalyTable({ caption, anomalies, reference }: { caption: string; anomalies: Anomaly[]; reference: Reference }) {
  return (
    <Table caption={caption} columns={anomalyColumns(reference)} rows={anomalies} file={caption}
      keyOf={(anomaly) => `${anomaly.place} ${anomaly.priority} ${anomaly.start_time} ${anomaly.kind}`} most={20} />
  );
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

function EpisodeItem({ episode }: { episode: AnomalyEpisode }) {
  return (
    <li>
      <details>
        <summary>{episode.sentence}</summary>
        <p class="muted">
          Explains {count(episode.anomaly_count)} {episode.anomaly_count === 1 ? "anomaly" : "anomalies"}.{" "}
          {episode.place_count > episode.places.length
            ? `First ${count(episode.places.length)} of ${count(episode.place_count)} places: `
            : "Places: "}
          {episode.places.map((place, i) => <span key={place}>{i > 0 && ", "}<Place name={place} /></span>)}
        </p>
      </details>
    </li>
  );
}

function Episodes({ episodes }: { episodes: AnomalyEpisode[] }) {
  if (episodes.length === 0) return null;
  return (
    <>
      <h3>Episodes</h3>
      <p class="muted">
        Ports whose traffic changes together form an inferred job, which is a guess. Times are in UTC.
      </p>
      <ul class="events">
        {episodes.slice(0, 100).map((episode) => (
          <EpisodeItem key={`${episode.kind} ${episode.inferred_job} ${episode.start_time} ${episode.places[0]}`} episode={episode} />
        ))}
      </ul>
      <Truncated shown={Math.min(episodes.length, 100)} total={episodes.length} />
    </>
  );
}

function AnomaliesOfFindings({ groups, reference }: { groups: Grouped["byFinding"]; reference: Reference }) {
  return (
    <>
      {groups.map(({ finding, anomalies }, i) => (
        // The start of a finding may be revised, which must not fold the list.
        <details key={`${findingKey(finding)} ${i}`} class="anomalies-of-finding">
          <summary>
            {count(anomalies.length)} {anomalies.length === 1 ? "anomaly" : "anomalies"} at the place and time of the finding{" "}
            {shortTitle(finding)}
          </summary>
          <p><a href={hrefOfFinding(finding)}>Open the finding</a></p>
          <AnomalyTable caption={`Anomalies at ${shortTitle(finding)}`} anomalies={anomalies} reference={reference} />
        </details>
      ))}
    </>
  );
}

function nothingElse(hasExplained: boolean, hasOfFindings: boolean): string {
  if (hasOfFindings) return hasExplained ? "No anomalies other than those listed under findings and episodes." : "No anomalies other than those listed under findings.";
  return hasExplained ? "No anomalies other than those listed under episodes." : "No anomalies found.";
}

interface ListProps {
  answer: ListAnomaliesResponse;
  findings: Finding[]; // active, ended and suspected
  reference: Reference;
}

export function AnomalyList({ answer, findings, reference }: ListProps) {
  const { anomalies, episodes, phase_changes, statistics } = answer;
  const { byFinding, rest: single } = useMemo(
    () => groupByFinding(anomalies.filter((anomaly) => anomaly.episode === 0), findings),
    [anomalies, findings],
  );
  if (!statistics) return <p class="muted">No anomaly detection: there is no topology or there are no counters.</p>;
  const explained = anomalies.filter((anomaly) => anomaly.episode !== 0);
  return (
    <>
      <p class="muted">
        {count(statistics.evaluated_count)} windows of ports, NICs, GPUs and hosts were evaluated;{" "}
        {count(statistics.unevaluated_count)} could not be evaluated because they have no history.
      </p>
      {single.length === 0
        ? <p>{nothingElse(explained.length > 0, byFinding.length > 0)}</p>
        : <AnomalyTable caption="Entities with anomalous behaviour" anomalies={single} reference={reference} />}
      <AnomaliesOfFindings groups={byFinding} reference={reference} />
      <Truncated shown={anomalies.length} total={answer.total_size} />
      <Episodes episodes={episodes} />
      {explained.length > 0 && (
        <details>
          <summary>Anomalies that episodes explain: {count(explained.length)}</summary>
          <AnomalyTable caption="Anomalies that episodes explain" anomalies={explained} reference={reference} />
        </details>
      )}
      {phase_changes.length > 0 && (
        <ul class="events">{phase_changes.slice(0, 10).map((change) => phaseSentence(change, reference))}</ul>
      )}
    </>
  );
}
