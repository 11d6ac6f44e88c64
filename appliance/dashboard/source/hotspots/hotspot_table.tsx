// SPDX-License-Identifier: BSD-3-Clause
// Hotspots by port, the most expensive first. The details of a port are its hotspots with the flows
// that cause them and the jobs that they affect.
import { useMemo } from "preact/hooks";
import type { Culprit, Hotspot, LostTime } from "../api/messages";
import { nsBetween, sortKey, utcTime, type Reference } from "../format/moments";
import { bytes, count, duration, percent, toNanoseconds } from "../format/quantities";
import { causeText, enumWords, hotspotSourceText } from "../format/words";
import { FlowEnds } from "../parts/flow_ends";
import { JobLink, Moment, Place, Share, Tag } from "../parts/names";
import { Table, type Column, type TableState } from "../parts/table";
import { groupByPort, type HotspotGroup } from "./hotspot_groups";

const kCulpritColumns: Column<Culprit>[] = [
  { title: "causing flow", cell: (flow) => <FlowEnds flow={flow} />, value: (flow) => `${flow.source} → ${flow.destination} QP ${flow.destination_qpn}` },
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

function HotspotDetail({ hotspot, reference }: { hotspot: Hotspot; reference: Reference }) {
  return (
    <section class="hotspot" aria-label={`Hotspot at ${hotspot.port}, ${utcTime(hotspot.start_time)}`}>
      <p class="card-line">
        <Tag kind="hot" text={enumWords(hotspot.cause) || "unknown"} hint={causeText(hotspot.cause)} />
        {hotspot.priority !== undefined && <span>priority {hotspot.priority}</span>}
        <span>
          <Moment time={hotspot.start_time} reference={reference} />, for {duration(nsBetween(hotspot.start_time, hotspot.end_time))}
        </span>
        <span class="muted">{causeText(hotspot.cause)}</span>
      </p>
      <Facts hotspot={hotspot} />
      {hotspot.culprits.length === 0 ? <p class="muted">The flows that caused this hotspot are unknown.</p> : (
        <Table caption={`Flows that cause congestion at ${hotspot.port}`} columns={kCulpritColumns} rows={hotspot.culprits}
          keyOf={(flow) => `${flow.source} ${flow.destination} ${flow.destination_qpn}`} most={12} />
      )}
      {hotspot.lost_times.length > 0 && (
        <Table caption={`Jobs affected at ${hotspot.port}`} columns={kAffectedColumns} rows={hotspot.lost_times}
          keyOf={(lost) => lost.job_id} most={12} />
      )}
    </section>
  );
}

const kDetailsShown = 6;

function GroupDetail({ group, reference }: { group: HotspotGroup; reference: Reference }) {
  return (
    <>
      {group.hotspots.slice(0, kDetailsShown).map((hotspot) => (
        <HotspotDetail key={`${hotspot.priority} ${hotspot.start_time}`} hotspot={hotspot} reference={reference} />
      ))}
      {group.hotspots.length > kDetailsShown && (
        <p class="muted">The {kDetailsShown} most expensive of {count(group.hotspots.length)} hotspots at this port are shown.</p>
      )}
    </>
  );
}

const kJobsShown = 2;

function columnsOf(reference: Reference, job: string): Column<HotspotGroup>[] {
  return [
    { title: "port", cell: (group) => <Place name={group.port} />, sort: (group) => group.port },
    {
      title: "cost", numeric: true, unit: "ns", hint: job ? "upper bound of the delay of the selected job" : "upper bound of the delay, summed over the jobs",
      cell: (group) => (group.costNs > 0 ? duration(group.costNs) : "none known"), sort: (group) => group.costNs,
    },
    {
      title: "delayed jobs",
      cell: (group) => group.costByJob.length === 0 ? <span class="muted">none known</span> : (
        <>
          {group.costByJob.slice(0, kJobsShown).map(([job, cost]) => <p key={job} class="job-cost"><JobLink id={job} /> {duration(cost)}</p>)}
          {group.costByJob.length > kJobsShown && <p class="muted">and {group.costByJob.length - kJobsShown} more</p>}
        </>
      ),
      value: (group) => group.costByJob.map(([job]) => job).join(" "), sort: (group) => group.costByJob.length,
    },
    {
      title: "cause",
      cell: (group) => <span class="tags">{group.causes.map((cause) => <Tag key={cause} kind="hot" text={enumWords(cause) || "unknown"} hint={causeText(cause)} />)}</span>,
      sort: (group) => enumWords(group.causes[0]), value: (group) => group.causes.map(enumWords).join(", "),
    },
    { title: "hotspots", numeric: true, cell: (group) => count(group.hotspots.length), sort: (group) => group.hotspots.length },
    { title: "CE marks", numeric: true, cell: (group) => count(group.ceMarked), sort: (group) => group.ceMarked },
    { title: "dropped", numeric: true, cell: (group) => count(group.dropped), sort: (group) => group.dropped },
    { title: "paused by PFC", numeric: true, unit: "ns", cell: (group) => duration(group.pausedNs), sort: (group) => group.pausedNs },
    { title: "peak queue", numeric: true, unit: "B", cell: (group) => (group.peakBytes === undefined ? "not reported" : bytes(group.peakBytes)), sort: (group) => group.peakBytes ?? -1 },
    { title: "last observed", cell: (group) => <Moment time={group.last} reference={reference} />, sort: (group) => sortKey(group.last), value: (group) => group.last },
  ];
}

interface Props {
  hotspots: Hotspot[];
  reference: Reference;
  file: string;
  job?: string; // count only its delay
  most?: number;
  state?: TableState;
}

export function HotspotTable({ hotspots, reference, file, job = "", most = 50, state }: Props) {
  const groups = useMemo(() => groupByPort(hotspots, job), [hotspots, job]);
  return (
    <Table caption="Hotspots by port" columns={columnsOf(reference, job)} rows={groups} keyOf={(group) => group.port} most={most}
      file={file} {...state} detail={(group) => <GroupDetail group={group} reference={reference} />} />
  );
}
