// SPDX-License-Identifier: BSD-3-Clause
// When each fault was active, from past events and the current findings. Both are incomplete: events
// exist only if a history is configured, and the appliance eventually drops resolved findings.
import type { Event as ApplianceEvent, Finding } from "../api/messages";
import { findingId, findingKey } from "../findings/finding_id";
import { severityOf, stateOf, type Severity } from "../findings/severity";
import { shortTitle } from "../findings/titles";
import { toNs } from "../format/moments";
import type { Range } from "../range/range";

export type SpanEnd = "ongoing" | "resolved" | "withdrawn" | "unknown";

export interface Span {
  id: string; // ID of the finding
  startNs: bigint;
  endNs?: bigint; // undefined: ongoing, or unknown
  end: SpanEnd;
  severity: Severity;
}

export interface TimelineRow {
  key: string;
  title: string;
  spans: Span[];
}

const kSameNs = 300_000_000_000n; // a fault that comes back within five minutes is one finding

function makeSpan(finding: Finding, startNs: bigint, end: SpanEnd): Span {
  return { id: findingId(finding), startNs, endNs: toNs(finding.end_time), end, severity: severityOf(finding) };
}

// The span that continues at this time.
function spanAt(spans: Span[], timeNs: bigint): Span | undefined {
  return [...spans].reverse().find(
    (span) => timeNs >= span.startNs - kSameNs && (span.endNs === undefined || timeNs <= span.endNs + kSameNs),
  );
}

// `isLater`: after the time of the findings, which say nothing about this event.
function addEvent(spans: Span[], event: ApplianceEvent, finding: Finding, isLater: boolean) {
  const timeNs = toNs(event.event_time) ?? 0n;
  if (event.kind === "KIND_FAULT_WITHDRAWN") {
    const open = [...spans].reverse().find((span) => span.endNs === undefined);
    if (open) Object.assign(open, { endNs: timeNs, end: "withdrawn" });
    return; // a withdrawn finding has no times of its own
  }
  const startNs = toNs(finding.start_time) ?? timeNs;
  const isOver = event.kind === "KIND_FAULT_RESOLVED";
  const endNs = isOver ? (toNs(finding.end_time) ?? timeNs) : undefined;
  const end = isOver ? "resolved" : isLater ? "ongoing" : "unknown";
  const known = spanAt(spans, startNs);
  if (known?.end === "ongoing" && !isOver) return;
  if (known) Object.assign(known, { endNs, end });
  else spans.push({ ...makeSpan(finding, startNs, end), endNs });
}

function addFinding(spans: Span[], finding: Finding) {
  const startNs = toNs(finding.start_time);
  if (startNs === undefined) return;
  const span = makeSpan(finding, startNs, stateOf(finding) === "resolved" ? "resolved" : "ongoing");
  const known = spanAt(spans, startNs);
  if (known) Object.assign(known, span);
  else spans.push(span);
}

export function isWithin(span: Span, { startNs, endNs }: Range): boolean {
  return span.startNs < endNs && (span.endNs === undefined || span.endNs >= startNs);
}

// One row for each fault that was active in the range: ongoing faults first, then the latest. `atNs` is the
// time of the findings if it is in the past: later events change what they say.
export function timelineRows(events: ApplianceEvent[], findings: Finding[], range: Range, atNs?: bigint): TimelineRow[] {
  const rows = new Map<string, TimelineRow>();
  const rowOf = (finding: Finding) => {
    const key = findingKey(finding);
    const row = rows.get(key) ?? { key, title: shortTitle(finding), spans: [] };
    rows.set(key, row);
    return row;
  };
  const time = (event: ApplianceEvent) => toNs(event.event_time) ?? 0n;
  const sorted = [...events].sort((a, b) => (time(a) < time(b) ? -1 : 1));
  const isLater = (event: ApplianceEvent) => atNs !== undefined && time(event) > atNs;
  const add = (event: ApplianceEvent) => {
    if (event.finding && event.kind.startsWith("KIND_FAULT_")) addEvent(rowOf(event.finding).spans, event, event.finding, isLater(event));
  };
  sorted.filter((event) => !isLater(event)).forEach(add);
  for (const finding of findings) addFinding(rowOf(finding).spans, finding);
  sorted.filter(isLater).forEach(add);
  const last = (row: TimelineRow) => row.spans.reduce((latest, { startNs }) => (startNs > latest ? startNs : latest), 0n);
  const isOngoing = (row: TimelineRow) => row.spans.some((span) => span.end === "ongoing");
  return [...rows.values()]
    .map((row) => ({ ...row, spans: row.spans.filter((span) => isWithin(span, range)) }))
    .filter((row) => row.spans.length > 0)
    .sort((a, b) => Number(isOngoing(b)) - Number(isOngoing(a)) || (last(a) < last(b) ? 1 : -1));
}

// The events that the current findings imply, for an appliance without a history.
export function eventsOfFindings(findings: Finding[]): ApplianceEvent[] {
  return findings.flatMap((finding) => {
    const event = (kind: ApplianceEvent["kind"], event_time: string | undefined): ApplianceEvent[] =>
      event_time === undefined ? [] : [{ cursor: "0", kind, event_time, sentence: finding.sentence, finding }];
    return [...event("KIND_FAULT_STARTED", finding.start_time), ...event("KIND_FAULT_RESOLVED", finding.end_time)];
  });
}
