// SPDX-License-Identifier: BSD-3-Clause
// When each fault was active: one row for each fault, one bar for each occurrence.
import { useCallback, useState } from "preact/hooks";
import { minuteAt } from "../past/minute";
import { MinutePick, type Picked } from "../past/minute_pick";
import { href } from "../parts/route";
import { utcTime } from "../format/moments";
import { count, duration } from "../format/quantities";
import { ticksOf, timestampOf, type Range } from "../range/range";
import type { Span, TimelineRow } from "./spans";

interface Props {
  rows: TimelineRow[];
  range: Range;
  most: number; // rows
  minute?: bigint; // the selected one
  nowNs?: bigint; // undefined for a recording
  onShow(minute: bigint): void; // never called for a recording
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

export function Timeline({ rows, range, most, minute, nowNs: presentNs, onShow }: Props) {
  const shown = rows.slice(0, most);
  const [picked, setPicked] = useState<Picked>();
  const close = useCallback(() => setPicked(undefined), []);
  // A fault of a past minute lasts at least until the end of what the timeline shows.
  const isCut = presentNs === undefined || (minute !== undefined && range.endNs < presentNs);
  const nowNs = isCut ? range.endNs : presentNs;
  const share = (ns: bigint) => Number(ns - range.startNs) / Number(range.endNs - range.startNs);
  const isShown = minute !== undefined && minute >= range.startNs && minute <= range.endNs;
  const pick = (event: MouseEvent) => {
    const track = event.target instanceof Element && event.target.classList.contains("track") ? event.target : undefined;
    if (!track || presentNs === undefined) return;
    const { left, width } = track.getBoundingClientRect();
    const at = (event.clientX - left) / width;
    const ns = range.startNs + BigInt(Math.round(at * Number(range.endNs - range.startNs)));
    if (at >= 0 && ns <= presentNs) setPicked({ minute: minuteAt(ns), share: at });
  };
  return (
    <div class={presentNs === undefined ? "" : "timeline-frame"}>
      <ol class="timeline" aria-label="When each fault was active" onClick={pick}>
        {shown.map((row) => {
          const last = row.spans.at(-1);
          return (
            <li key={row.key}>
              <a class="timeline-title" href={href("findings", {}, last?.id ?? "")} title={row.title}>{row.title}</a>
              <span class="track">
                {row.spans.map((span) => <Bar key={span.id} span={span} range={range} title={row.title} nowNs={nowNs} />)}
                {isShown && <span class="minute-mark" style={{ left: `${share(minute) * 100}%` }} />}
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
      {picked && (
        <div class="timeline-pick">
          <span class="track"><MinutePick picked={picked} onClose={close} onShow={() => {
            close();
            onShow(picked.minute);
          }} /></span>
        </div>
      )}
      {rows.length > shown.length && <p class="muted">{count(rows.length - shown.length)} more faults in this range.</p>}
    </div>
  );
}
