// SPDX-License-Identifier: BSD-3-Clause
// Selects the time of the data: live, or a past minute. The buttons stay in place, so that repeated
// clicks step through the minutes.
import { useEffect, useRef, useState } from "preact/hooks";
import { useNow } from "../parts/reference";
import { choose, visit, type Route } from "../parts/route";
import { Tag } from "../parts/names";
import { queryOfPresent } from "../range/range";
import { useStoreState } from "../store/use_store";
import { clockText, kMinuteNs, minuteAt, minuteText, parseMinute, urlTime } from "./minute";
import { useMinute } from "./minute_context";

// The last minute that is complete.
export const lastMinute = (nowNs: bigint) => minuteAt(nowNs) - kMinuteNs;

// The changes of the URL that move by whole minutes. Undefined if that would be after the last minute.
export function stepQuery(minute: bigint | undefined, steps: bigint, nowNs: bigint): Record<string, string> | undefined {
  if (minute === undefined) return steps < 0n ? { time: urlTime(lastMinute(nowNs)) } : undefined;
  const next = minute + steps * kMinuteNs;
  if (steps > 0n && next > minuteAt(nowNs)) return undefined;
  return { time: urlTime(next) };
}

// Steps within the past replace each other in the browser history.
export function moveTo(route: Route, changes: Record<string, string>) {
  (route.query["time"] ? choose : visit)(route, changes);
}

function MinuteForm({ minute, onShow, onClose }: { minute: bigint; onShow(minute: bigint): void; onClose(): void }) {
  const form = useRef<HTMLFormElement>(null);
  const [isWrong, setWrong] = useState(false);
  useEffect(() => {
    form.current?.querySelector("input")?.focus();
    const pressed = (event: Event) => {
      const isInside = event.target instanceof Element && event.target.closest(".time-form, .time-open") !== null;
      if (!isInside) onClose();
    };
    window.addEventListener("pointerdown", pressed);
    return () => window.removeEventListener("pointerdown", pressed);
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const chosen = parseMinute(`${String(new FormData(form.current as HTMLFormElement).get("minute")).slice(0, 16)}Z`);
    setWrong(chosen === undefined);
    if (chosen !== undefined) onShow(chosen);
  };
  return (
    <form class="time-form" ref={form} onSubmit={submit} onKeyDown={(event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      onClose();
    }}>
      <label>Minute (UTC) <input type="datetime-local" name="minute" defaultValue={urlTime(minute).slice(0, 16)} /></label>
      <button type="submit">Show</button>
      {isWrong && <p role="alert" class="fault-line">Enter a date and a time.</p>}
    </form>
  );
}

// Where the stored data is older than the selected minute.
function storedText(minute: bigint, timesNs: bigint[]): string {
  const [first] = timesNs;
  if (first === undefined) return "";
  const least = timesNs.reduce((a, b) => (b < a ? b : a), first);
  const most = timesNs.reduce((a, b) => (b > a ? b : a), first);
  if (least >= minute) return "";
  if (most >= minute) return `some data from ${clockText(least)}`;
  return minuteAt(least) === minuteAt(most) ? `data from ${clockText(least)}` : `data from ${clockText(least)} to ${clockText(most)}`;
}

function State({ route, minute, nowNs }: { route: Route; minute: bigint | undefined; nowNs: bigint }) {
  const store = useStoreState();
  if (minute === undefined) {
    if (!route.query["time"]) return <span class="unseen" role="status">Live</span>;
    return <span role="alert" class="fault-line">The time in the URL is not valid: the views show the present.</span>;
  }
  const { isLoading, dataTimesNs } = store.pastAnswers();
  const stored = isLoading ? "" : storedText(minute, dataTimesNs);
  return (
    <>
      <strong role="status">Past: {minuteText(minute)}</strong>
      {isLoading && minute <= nowNs && <span class="muted">Loading …</span>}
      {stored && <span title="The history has no data for this minute. The latest data before it is shown."><Tag kind="waiting" text={stored} /></span>}
    </>
  );
}

export function TimeBar({ route }: { route: Route }) {
  const { source } = useStoreState();
  const minute = useMinute();
  const nowNs = useNow();
  const [isOpen, setOpen] = useState(false);
  if (!source.live) return null;
  const isPast = minute !== undefined;
  const change = (changes: Record<string, string> | undefined) => changes && moveTo(route, changes);
  const later = stepQuery(minute, 1n, nowNs);
  return (
    <section class={isPast ? "time-bar time-bar-past" : "time-bar"} aria-label="Time of the data">
      <button type="button" class="time-live" aria-pressed={!isPast} title={isPast ? "Back to live" : "The views show the present"} onClick={() => change(queryOfPresent(route.query))}>Live</button>
      <button type="button" title="One minute back" aria-keyshortcuts="[" onClick={() => change(stepQuery(minute, -1n, nowNs))}>−1 min</button>
      <button type="button" title="One minute forward" aria-keyshortcuts="]" disabled={!later} onClick={() => change(later)}>+1 min</button>
      <button type="button" class="time-open" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>Go to …</button>
      {isOpen && (
        <MinuteForm minute={minute ?? lastMinute(nowNs)} onClose={() => setOpen(false)} onShow={(chosen) => {
          setOpen(false);
          visit(route, { time: urlTime(chosen) });
        }} />
      )}
      <State route={route} minute={minute} nowNs={nowNs} />
    </section>
  );
}
