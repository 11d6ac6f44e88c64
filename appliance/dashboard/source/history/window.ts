// SPDX-License-Identifier: BSD-3-Clause
// The time range of the charts. The URL contains a range that ends now (`range`), or the two ends of
// a range in the past (`start`, `end`).

export const kRanges = [
  { name: "15m", title: "15 min", seconds: 900 },
  { name: "1h", title: "1 h", seconds: 3600 },
  { name: "6h", title: "6 h", seconds: 21_600 },
  { name: "24h", title: "24 h", seconds: 86_400 },
  { name: "7d", title: "7 d", seconds: 604_800 },
] as const;
const kDefault = kRanges[1];

export interface TimeWindow {
  startS: number; // whole minutes, as the history stores them
  endS: number;
  range?: string; // the range that ends now; unset: the ends are fixed
}

const kMinuteS = 60;
const kShortestS = 2 * kMinuteS;
const kMaxPoints = 500; // about one for each pixel of a chart

const utcText = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`;

function parseTime(text: string | undefined): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms / 1000;
}

export function windowOf(query: Record<string, string>, nowS: number): TimeWindow {
  const [startS, endS] = [parseTime(query["start"]), parseTime(query["end"])];
  if (startS !== undefined && endS !== undefined && startS < endS) return { startS, endS };
  const range = kRanges.find((candidate) => candidate.name === query["range"]) ?? kDefault;
  // The appliance writes the values of a minute when it ends, so that the last minute has none yet.
  const nextMinute = Math.ceil(nowS / kMinuteS) * kMinuteS;
  return { startS: nextMinute - range.seconds, endS: nextMinute, range: range.name };
}

// The changes of the URL that show the given range.
export function queryOfWindow(startS: number, endS: number): Record<string, string> {
  const start = Math.floor(startS / kMinuteS) * kMinuteS;
  const end = Math.max(start + kShortestS, Math.ceil(endS / kMinuteS) * kMinuteS);
  return { range: "", start: utcText(start), end: utcText(end) };
}

export function queryOfRange(range: string): Record<string, string> {
  return { range: range === kDefault.name ? "" : range, start: "", end: "" };
}

export function historyPath(kind: "jobs" | "links", name: string, { startS, endS }: TimeWindow, maxPoints = kMaxPoints): string {
  const query = new URLSearchParams({
    [kind === "jobs" ? "job_id" : "port"]: name,
    start_time: new Date(startS * 1000).toISOString(),
    end_time: new Date(endS * 1000).toISOString(),
    max_points: String(maxPoints),
  });
  return `/api/v1/history/${kind}?${query}`;
}

export function windowText({ startS, endS }: TimeWindow): string {
  const [start, end] = [utcText(startS), utcText(endS)];
  const day = (text: string) => text.slice(0, 10);
  const clock = (text: string) => text.slice(11, 16);
  return `${day(start)} ${clock(start)} to ${day(start) === day(end) ? "" : `${day(end)} `}${clock(end)} UTC`;
}
