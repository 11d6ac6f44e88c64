// SPDX-License-Identifier: BSD-3-Clause
// Selects the time range of the charts in the URL.
import { choose, type Route } from "../parts/route";
import { kRanges, queryOfRange, queryOfWindow, windowText, type TimeWindow } from "./window";

interface Props {
  route: Route;
  window: TimeWindow;
  nowS: number;
  note: string; // for example the step between points
}

const kZoom = 3;

export function RangePicker({ route, window, nowS, note }: Props) {
  const { startS, endS } = window;
  const span = endS - startS;
  const show = (start: number, end: number) => choose(route, queryOfWindow(start, end));
  const zoomOut = () => {
    const end = Math.min(endS + span, Math.max(endS, nowS));
    show(end - span * kZoom, end);
  };
  return (
    <div class="range">
      <fieldset class="switch">
        <legend>Last</legend>
        {kRanges.map(({ name, title }) => (
          <label key={name}>
            <input type="radio" name="range" checked={window.range === name} onChange={() => choose(route, queryOfRange(name))} />
            <span>{title}</span>
          </label>
        ))}
      </fieldset>
      <span class="range-steps">
        <button type="button" onClick={() => show(startS - span / 2, endS - span / 2)}>Earlier</button>
        <button type="button" disabled={endS >= nowS} onClick={() => show(startS + span / 2, endS + span / 2)}>Later</button>
        <button type="button" onClick={zoomOut}>Zoom out</button>
      </span>
      <span class="range-text">{windowText(window)} <span class="muted">{note}</span></span>
    </div>
  );
}
