// SPDX-License-Identifier: BSD-3-Clause
// A card for each hotspot, with the flows that cause it and the jobs that it affects.
import type { Culprit, Hotspot, LostTime } from "../api/messages";
import { nsBetween, type Reference } from "../format/moments";
import { bytes, count, duration, percent, toNanoseconds } from "../format/quantities";
import { causeText, enumWords, hotspotSourceText } from "../format/words";
import { JobLink, Moment, Place, Share, Tag } from "../parts/names";
import { Table, type Column } from "../parts/table";

const kCulpritColumns: Column<Culprit>[] = [
  { title: "causing flow", cell: (flow) => `${flow.source} → ${flow.destination} QP ${flow.destination_qpn}` },
  { title: "job", cell: (flow) => (flow.job_id ? <JobLink id={flow.job_id} /> : "unknown") },
  { title: "rank", numeric: true, cell: (flow) => flow.rank ?? "–", sort: (flow) => flow.rank ?? -1 },
  { title: "bytes through the queue", numeric: true, cell: (flow) => bytes(flow.bytes), sort: (flow) => Number(flow.bytes) },
  { title: "share", numeric: true, cell: (flow) => <Share value={flow.share} />, sort: (flow) => flow.share },
];

const kAffectedColumns: Column<LostTime>[] = [
  { title: "affected job", cell: (lost) => <JobLink id={lost.job_id} /> },
  { title: "time lost (upper bound)", numeric: true, cell: (lost) => duration(lost.lost_duration), sort: (lost) => toNanoseconds(lost.lost_duration) },
  { title: "sending ranks", cell: (lost) => ranksText(lost.ranks) },
];

// Formats ranks as ranges ("0-3, 7"), because long lists are mostly consecutive.
export function ranksText(ranks: number[]): string {
  const sorted = [...ranks].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (end + 1 < sorted.length && sorted[end + 1] === (sorted[end] as number) + 1) ++end;
    parts.push(end > i ? `${sorted[i]}-${sorted[end]}` : `${sorted[i]}`);
    i = end + 1;
  }
  return parts.join(", ") || "–";
}

function worst(lost: LostTime[]): LostTime | undefined {
  return [...lost].sort((a, b) => toNanoseconds(b.lost_duration) - toNanoseconds(a.lost_duration))[0];
}

function Facts({ hotspot }: { hotspot: Hotspot }) {
  const facts: [string, string][] = [
    ["peak queue", hotspot.peak_queue_bytes === undefined ? "not reported" : bytes(hotspot.peak_queue_bytes)],
    ["CE marks", count(hotspot.ce_marked_packets)],
    ["dropped", count(hotspot.dropped_packets)],
    ["paused by PFC", duration(hotspot.paused_duration)],
    ["traffic", `${bytes(hotspot.bytes)} of ${count(hotspot.flow_count)} flows`],
    ["largest flow / mean flow", hotspot.imbalance_ratio === undefined ? "unknown" : `${hotspot.imbalance_ratio.toFixed(1)}×`],
    ["link group", hotspot.group_link_count === 0 ? "unknown" : `${hotspot.group_link_count} links, ${percent(hotspot.group_utilization)} utilisation`],
    ["source", hotspotSourceText(hotspot.source)],
  ];
  return (
    <dl class="facts">
      {facts.map(([title, text]) => <div key={title}><dt>{title}</dt><dd>{text}</dd></div>)}
    </dl>
  );
}

function HotspotCard({ hotspot, reference }: { hotspot: Hotspot; reference: Reference }) {
  const affected = worst(hotspot.lost_times);
  const first = hotspot.culprits[0];
  return (
    <details class="card">
      <summary data-item="">
        <span class="card-line">
          <Tag kind="hot" text={enumWords(hotspot.cause) || "unknown"} hint={causeText(hotspot.cause)} />
          <strong class="name">{hotspot.port}</strong>
          {hotspot.priority !== undefined && <span>priority {hotspot.priority}</span>}
          <span class="muted">
            <Moment time={hotspot.start_time} reference={reference} />, for {duration(nsBetween(hotspot.start_time, hotspot.end_time))}
          </span>
        </span>
        <span class="card-line card-facts">
          {first && (
            <span>
              {hotspot.culprits.length} {hotspot.culprits.length === 1 ? "causing flow" : "causing flows"}, largest:{" "}
              {first.rank !== undefined ? `rank ${first.rank}` : first.source} with {percent(first.share)}
            </span>
          )}
          {affected && toNanoseconds(affected.lost_duration) > 0 && <span>{affected.job_id} loses up to {duration(affected.lost_duration)}</span>}
        </span>
      </summary>
      <p>{causeText(hotspot.cause)}. <Place name={hotspot.port} /> on the map</p>
      <Facts hotspot={hotspot} />
      {hotspot.culprits.length === 0 ? <p class="muted">The flows that caused this hotspot are unknown.</p> : (
        <Table caption={`Flows that cause congestion at ${hotspot.port}`} columns={kCulpritColumns} rows={hotspot.culprits}
          keyOf={(flow) => `${flow.source} ${flow.destination} ${flow.destination_qpn}`} most={12} />
      )}
      {hotspot.lost_times.length > 0 && (
        <Table caption={`Jobs affected at ${hotspot.port}`} columns={kAffectedColumns} rows={hotspot.lost_times}
          keyOf={(lost) => lost.job_id} most={12} />
      )}
    </details>
  );
}

export function HotspotList({ hotspots, reference }: { hotspots: Hotspot[]; reference: Reference }) {
  return (
    <div class="cards">
      {hotspots.map((hotspot) => (
        <HotspotCard key={`${hotspot.port} ${hotspot.priority} ${hotspot.start_time}`} hotspot={hotspot} reference={reference} />
      ))}
    </div>
  );
}
