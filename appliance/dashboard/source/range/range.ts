// SPDX-License-Identifier: BSD-3-Clause
// The time range in the URL: `range=6h` is relative to now, `start=...&end=...` is fixed, both times
// in UTC. Without either, the range is the last hour.
import type { Timestamp } from "../api/messages";
import { toNs, type Reference } from "../format/moments";
import { kMinuteNs } from "../past/minute";

export interface Range {
  startNs: bigint;
  endNs: bigint;
  isLive: boolean; // ends now
}

const kMinute = 60_000_000_000n;
const kHour = 60n * kMinute;

export const kRanges: [string, bigint, string][] = [
  ["15m", 15n * kMinute, "last 15 min"],
  ["1h", kHour, "last hour"],
  ["6h", 6n * kHour, "last 6 h"],
  ["24h", 24n * kHour, "last 24 h"],
  ["7d", 168n * kHour, "last 7 days"],
];
export const kDefaultRange = "1h";
export const kCustom = "custom";
const kShortest = 2n * kMinute; // the history stores one value for each minute

export function timestampOf(ns: bigint): Timestamp {
  return new Date(Number(ns / 1_000_000n)).toISOString().replace(".000Z", "Z");
}

// The selected entry of kRanges, or kCustom.
export function rangeName(query: Record<string, string>): string {
  if (query["start"] || query["end"]) return kCustom;
  return kRanges.find(([name]) => name === query["range"])?.[0] ?? kDefaultRange;
}

// Links may omit the seconds: "2026-01-31T12:00Z".
function parseEnd(text: string | undefined): bigint | undefined {
  return toNs(text?.replace(/(T\d\d:\d\d)Z$/, "$1:00Z"));
}

// "" if the custom range is valid.
export function rangeProblem(query: Record<string, string>): string {
  if (rangeName(query) !== kCustom) return "";
  const [start, end] = [parseEnd(query["start"]), parseEnd(query["end"])];
  if (start === undefined || end === undefined) return "The time range needs a start and an end.";
  return start < end ? "" : "The start of the time range must be before its end.";
}

// The range at `nowNs`. An invalid custom range becomes the default range.
export function rangeOf(query: Record<string, string>, nowNs: bigint): Range {
  const name = rangeName(query);
  if (name === kCustom && rangeProblem(query) === "") {
    return { startNs: parseEnd(query["start"]) ?? 0n, endNs: parseEnd(query["end"]) ?? 0n, isLive: false };
  }
  const length = kRanges.find(([candidate]) => candidate === name)?.[1] ?? kHour;
  return { startNs: nowNs - length, endNs: nowNs, isLive: true };
}

// A relative range ends with the selected minute. Undefined for a recording.
export function rangeAt(query: Record<string, string>, { nowNs, isPast }: Reference): Range | undefined {
  if (nowNs === undefined) return undefined;
  return isPast ? { ...rangeOf(query, nowNs + kMinuteNs), isLive: false } : rangeOf(query, nowNs);
}

// True if the selection of a minute has fixed a relative range, so that the timeline does not move.
export function isPinned(query: Record<string, string>): boolean {
  return Boolean(query["time"] && query["range"] && query["start"] && query["end"]);
}

// The changes of the URL that show a minute, and keep the shown range.
export function queryOfMinute(query: Record<string, string>, minute: bigint, range?: Range): Record<string, string> {
  const time = timestampOf(minute);
  const name = rangeName(query);
  return range && name !== kCustom ? { ...queryOfEnds(range.startNs, range.endNs), range: name, time } : { time };
}

// The changes of the URL that show the present.
export function queryOfPresent(query: Record<string, string>): Record<string, string> {
  return isPinned(query) ? { ...queryOfRange(query["range"] ?? ""), time: "" } : { time: "" };
}

// The changes of the URL that select a range that ends now.
export function queryOfRange(name: string): Record<string, string> {
  return { range: name === kDefaultRange ? "" : name, start: "", end: "" };
}

// The changes of the URL that select a fixed range, in whole minutes.
export function queryOfEnds(startNs: bigint, endNs: bigint): Record<string, string> {
  const start = startNs - (startNs % kMinute);
  const rounded = endNs + ((kMinute - (endNs % kMinute)) % kMinute);
  const end = rounded - start < kShortest ? start + kShortest : rounded;
  return { range: "", start: timestampOf(start), end: timestampOf(end) };
}

// Recordings may be as short as some milliseconds.
const kTickSteps = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5,
  1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
];

export interface Tick {
  at: number; // share of the range, 0 to 1
  text: string;
}

// At most seven ticks at round times.
export function ticksOf({ startNs, endNs }: Range): Tick[] {
  const [start, end] = [Number(startNs) / 1e9, Number(endNs) / 1e9];
  const step = kTickSteps.find((candidate) => (end - start) / candidate <= 6.5) ?? (end - start) / 6;
  const ticks: Tick[] = [];
  for (let time = Math.ceil(start / step) * step; time <= end; time += step) {
    const iso = new Date(Math.round(time * 1000)).toISOString();
    const text = step >= 86_400 ? iso.slice(5, 10) : iso.slice(11, step >= 60 ? 16 : step >= 1 ? 19 : 23);
    ticks.push({ at: (time - start) / (end - start), text });
  }
  return ticks;
}
