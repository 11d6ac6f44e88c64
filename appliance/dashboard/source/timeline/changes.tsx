// SPDX-License-Identifier: BSD-3-Clause
// What changed in a time range: the timeline and the list of events.
import type { Event as ApplianceEvent, Finding } from "../api/messages";
import { findingKey, hrefOfFinding } from "../findings/finding_id";
import { shortTitle } from "../findings/titles";
import { toNs, utcTime, type Reference } from "../format/moments";
import { count } from "../format/quantities";
import { enumWords } from "../format/words";
import { Export } from "../parts/export";
import type { ExportColumn } from "../parts/export_file";
import { Moment, Tag } from "../parts/names";
import { minuteAfter, minuteText } from "../past/minute";
import { useMinute } from "../past/minute_context";
import { useNow, useReference } from "../parts/reference";
import { href, visit, type Route } from "../parts/route";
import { useShared } from "../store/use_store";
import { useEvents, type EventsInRange } from "./past_events";
import { queryOfMinute, rangeAt, type Range } from "../range/range";
import { RangePicker } from "../range/range_picker";
import { timelineRows, type TimelineRow } from "./spans";
import { Timeline } from "./timeline";

// The range of a recording is that of its findings. Undefined if it has none.
function recordedRange(findings: Finding[]): Range | undefined {
  const times = findings.flatMap((finding) => [finding.start_time, finding.end_time]).flatMap((time) => toNs(time) ?? []);
  const [first] = times;
  if (first === undefined) return undefined;
  const least = times.reduce((a, b) => (b < a ? b : a), first);
  const most = times.reduce((a, b) => (b > a ? b : a), first);
  const margin = (most - least) / 10n + 1_000_000n;
  return { startNs: least - margin, endNs: most + margin, isLive: false };
}

const kEventTags: Partial<Record<ApplianceEvent["kind"], [string, string]>> = {
  KIND_FAULT_STARTED: ["fault", "started"],
  KIND_FAULT_RESOLVED: ["met", "resolved"],
  KIND_FAULT_WITHDRAWN: ["withdrawn", "withdrawn"],
  KIND_SOURCE_FAILED: ["fault", "source failed"],
  KIND_GAP: ["waiting", "events missing"],
};

// The time of an event as a link to the minute that shows its effect.
function EventClock({ event, route, range, nowNs }: Omit<EventProps, "reference">) {
  const { store } = useShared();
  const ns = toNs(event.event_time);
  const text = `${utcTime(event.event_time, 0)} UTC`;
  const minute = minuteAfter(ns ?? 0n);
  if (ns === undefined || !store.source.live || minute > nowNs) return <span class="muted event-clock">{text}</span>;
  return (
    <a class="event-clock" href={href(route.view, { ...route.query, ...queryOfMinute(route.query, minute, range) }, route.name)}
      title={`Show all views at ${minuteText(minute)}`}>{text}</a>
  );
}

interface EventProps {
  event: ApplianceEvent;
  reference: Reference;
  route: Route;
  range?: Range;
  nowNs: bigint;
}

function EventItem({ reference, ...shared }: EventProps) {
  const { event } = shared;
  const [kind, text] = kEventTags[event.kind] ?? ["", enumWords(event.kind)];
  const { finding } = event;
  return (
    <li>
      <span class="event-time"><Moment time={event.event_time} reference={reference} /></span>
      <Tag kind={kind} text={text} />
      {finding
        ? <a class="name" href={hrefOfFinding(finding)} title={event.sentence}>{shortTitle(finding)}</a>
        : <span>{event.sentence}</span>}
      <EventClock {...shared} />
    </li>
  );
}

function HistoryNote({ found }: { found: EventsInRange }) {
  const { store } = useShared();
  switch (found.history) {
    case "none":
      return (
        <p class="muted">
          {store.source.live
            ? <>No history is configured (<code>history.file</code>): faults that the appliance no longer lists are missing here.</>
            : "This file contains no event history: only its findings are shown."}
        </p>
      );
    case "failed":
      return <p class="fault-line">The event history could not be read, so only the current findings are shown. {found.problem}</p>;
    case "truncated":
      return <p class="muted">The range has more events: only the latest {count(found.events.length)} are shown.</p>;
    default:
      return null;
  }
}

function onlyOf(found: EventsInRange, key: string | undefined): EventsInRange {
  if (!key) return found;
  return { ...found, events: found.events.filter(({ finding }) => finding && findingKey(finding) === key) };
}

export interface ChangesInRange {
  range?: Range | undefined; // undefined: a recording without findings
  found: EventsInRange;
  rows: TimelineRow[];
  isLoading: boolean;
}

// `only`: the key of a finding, for its occurrences only.
export function useChanges(route: Route, findings: Finding[], only?: string): ChangesInRange {
  const reference = useReference();
  const range = rangeAt(route.query, reference) ?? recordedRange(findings);
  const found = onlyOf(useEvents(range, findings), only);
  const rows = range ? timelineRows(found.events, findings, range, reference.isPast ? reference.nowNs : undefined).filter((row) => !only || row.key === only) : [];
  return { range, found, rows, isLoading: range !== undefined && found.history === "loading" };
}

const kExported: ExportColumn<ApplianceEvent>[] = [
  { title: "time", value: (event) => event.event_time },
  { title: "change", value: ({ kind }) => kEventTags[kind]?.[1] ?? enumWords(kind) },
  { title: "finding", value: ({ finding }) => finding && shortTitle(finding) },
  { title: "sentence", value: (event) => event.sentence },
];

interface Props {
  route: Route;
  changes: ChangesInRange;
  title: string;
  most: { rows: number; events: number };
  nothing: string; // the text for an empty range
}

export function Changes({ route, changes, title, most, nothing }: Props) {
  const { store } = useShared();
  const reference = useReference();
  const nowNs = useNow();
  const minute = useMinute();
  const { range, found, rows, isLoading } = changes;
  const show = (picked: bigint) => visit(route, queryOfMinute(route.query, picked, range));
  const isEmpty = rows.length === 0 && found.events.length === 0;
  return (
    <section aria-labelledby="changes-title" class="card changes">
      <div class="section-head">
        <h2 id="changes-title">{title}</h2>
        <Export name="Events" columns={kExported} rows={found.events} />
        {range && store.source.live && <RangePicker route={route} range={range} nowNs={nowNs} />}
      </div>
      {isLoading && <p class="muted loading" role="status">Loading events …</p>}
      {isEmpty && !isLoading && <p>{nothing}</p>}
      {rows.length > 0 && range && (
        <Timeline rows={rows} range={range} most={most.rows} minute={minute} nowNs={store.source.live ? nowNs : undefined} onShow={show} />
      )}
      {found.events.length > 0 && (
        <ul class="events" aria-label="Events, the latest first">
          {found.events.slice(0, most.events).map((event, i) => (
            <EventItem key={`${event.event_time} ${event.kind} ${event.sentence} ${i}`} event={event} reference={reference} route={route} range={range} nowNs={nowNs} />
          ))}
        </ul>
      )}
      {found.events.length > most.events && <p class="muted">{count(found.events.length - most.events)} more events in this range.</p>}
      <HistoryNote found={found} />
    </section>
  );
}
