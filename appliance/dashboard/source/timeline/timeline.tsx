// SPDX-License-Identifier: BSD-3-Clause
// When each fault was active: one row for each fault, one bar for each occurrence.
import { href } from "../parts/route";
import { utcTime, type Reference } from "../format/moments";
import { count, duration } from "../format/quantities";
import { ticksOf, timestampOf, type Range } from "../range/range";
import type { Span, TimelineRow } from "./spans";

interface Props {
  rows: TimelineRow[];
  range: Range;
  reference: Reference;
  most: number; // rows
}

const kEnds: Record<Span["end"], string> = {
  ongoing: "ongoing",
  resolved: "resolved",
  withdrawn: "withdrawn: later telemetry has another explanation",
  unknown: "its end is not known",
};

function spanText(span: Span, nowNs: bigint): string {
  const until = span.endNs ?? nowNs;
  const length = duration(Number(until > span.startNs ? until - span.startNs : 0n));
  const lasted = span.end === "unknown" ? "" : `, for ${length}`;
  return `${span.severity}, since ${utcTime(timestampOf(span.startNs), 0)} UTC${lasted}, ${kEnds[span.end]}`;
}

function Bar({ span, range, title, nowNs }: { span: Span; range: Range; title: string; nowNs: bigint }) {
  const length = Number(range.endNs - range.startNs);
  const share = (ns: bigint) => Math.min(1, Math.max(0, Number(ns - range.startNs) / length));
  const from = share(span.startNs);
  const until = span.endNs === undefined ? (span.end === "unknown" ? from : share(nowNs)) : share(span.endNs);
  const text = spanText(span, nowNs);
  return (
    <a
      class={`bar bar-${span.severity} bar-${span.end}`} href={href("findings", {}, span.id)}
      style={{ left: `${from * 100}%`, width: `${(until - from) * 100}%` }}
      title={text} aria-label={`${title}: ${text}`}
    />
  );
}

export function Timeline({ rows, range, reference, most }: Props) {
  const shown = rows.slice(0, most);
  const nowNs = reference.nowNs ?? range.endNs;
  return (
    <>
      <ol class="timeline" aria-label="When each fault was active">
        {shown.map((row) => {
          const last = row.spans.at(-1);
          return (
            <li key={row.key}>
              <a class="timeline-title" href={href("findings", {}, last?.id ?? "")} title={row.title}>{row.title}</a>
              <span class="track">
                {row.spans.map((span) => <Bar key={span.id} span={span} range={range} title={row.title} nowNs={nowNs} />)}
              </span>
            </li>
          );
        })}
      </ol>
      <div class="timeline-axis" aria-hidden="true">
        <span>UTC</span>
        <span class="track">
          {ticksOf(range).map(({ at, text }) => <span key={at} class={at < 0.03 ? "first" : at > 0.97 ? "last" : ""} style={{ left: `${at * 100}%` }}>{text}</span>)}
        </span>
      </div>
      {rows.length > shown.length && <p class="muted">{count(rows.length - shown.length)} more faults in this range.</p>}
    </>
  );
}
