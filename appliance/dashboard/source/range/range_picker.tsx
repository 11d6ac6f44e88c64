// SPDX-License-Identifier: BSD-3-Clause
// Selects the time range, which the URL keeps: of the timelines, and of the charts over time.
import { useState } from "preact/hooks";
import { secondsOf, windowText } from "../history/window";
import { choose, type Route } from "../parts/route";
import { useMinute } from "../past/minute_context";
import { isPinned, kCustom, kRanges, queryOfEnds, queryOfRange, rangeName, rangeProblem, timestampOf, type Range } from "./range";

// "2026-01-31T12:00:00", the value of a datetime-local input, which has no zone.
const inputValue = (ns: bigint) => timestampOf(ns).slice(0, 19);
const asUtc = (value: string) => (value ? `${value.length === 16 ? `${value}:00` : value.slice(0, 19)}Z` : "");
const kZoom = 3n;

function CustomRange({ route, range, onDone }: { route: Route; range: Range; onDone(): void }) {
  const [problem, setProblem] = useState("");
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const fixed = { start: asUtc(String(form.get("start"))), end: asUtc(String(form.get("end"))) };
    // Without values, the range would silently be the default.
    const found = fixed.start || fixed.end ? rangeProblem(fixed) : "The time range needs a start and an end.";
    setProblem(found);
    if (found) return;
    choose(route, { range: "", ...fixed });
    onDone();
  };
  return (
    <form class="range-form" onSubmit={submit}>
      <label>from (UTC) <input type="datetime-local" name="start" step="1" defaultValue={inputValue(range.startNs)} /></label>
      <label>to (UTC) <input type="datetime-local" name="end" step="1" defaultValue={inputValue(range.endNs)} /></label>
      <button type="submit">Apply</button>
      {problem && <p role="alert" class="fault-line">{problem}</p>}
    </form>
  );
}

interface Props {
  route: Route;
  range: Range;
  nowNs: bigint;
  note?: string; // for example the step between points
}

export function RangePicker({ route, range, nowNs, note }: Props) {
  const [isEditing, setEditing] = useState(false);
  const { startNs, endNs } = range;
  const length = endNs - startNs;
  const name = isEditing ? kCustom : rangeName(route.query);
  const isFixed = name === kCustom && !isEditing && isPinned(route.query);
  const isPast = useMinute() !== undefined;
  const problem = rangeProblem(route.query);
  const select = (chosen: string) => {
    setEditing(chosen === kCustom);
    if (chosen !== kCustom) choose(route, queryOfRange(chosen));
  };
  const show = (start: bigint, end: bigint) => {
    setEditing(false);
    choose(route, queryOfEnds(start, end));
  };
  const zoomOut = () => {
    const end = endNs >= nowNs ? endNs : endNs + length < nowNs ? endNs + length : nowNs;
    show(end - length * kZoom, end);
  };
  return (
    <div class="range">
      <label>
        <span class="unseen">Time range</span>
        <select value={name} onChange={(event) => select(event.currentTarget.value)}>
          {kRanges.map(([value, , title]) => <option key={value} value={value}>{isPast ? `${title.replace("last hour", "1 hour").replace("last ", "")} before` : title}</option>)}
          <option value={kCustom}>custom …</option>
        </select>
      </label>
      <span class="range-steps">
        <button type="button" onClick={() => show(startNs - length / 2n, endNs - length / 2n)}>Earlier</button>
        <button type="button" disabled={range.isLive || endNs >= nowNs} onClick={() => show(startNs + length / 2n, endNs + length / 2n)}>Later</button>
        <button type="button" onClick={zoomOut}>Zoom out</button>
      </span>
      {isFixed && <button type="button" title="Edit the time range" onClick={() => setEditing(true)}>{windowText({ startS: secondsOf(startNs), endS: secondsOf(endNs) })}</button>}
      {name === kCustom && !isFixed && <CustomRange key={`${route.query["start"]}${route.query["end"]}`} route={route} range={range} onDone={() => setEditing(false)} />}
      {note && <span class="muted">{note}</span>}
      {problem && <p role="alert" class="fault-line">{problem} The last hour is shown.</p>}
    </div>
  );
}
