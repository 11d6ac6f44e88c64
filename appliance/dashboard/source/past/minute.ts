// SPDX-License-Identifier: BSD-3-Clause
// A past minute: in the URL as `time=2026-01-31T12:03:00Z`, in requests as `at_time`.
import { toNs } from "../format/moments";

export const kMinuteNs = 60_000_000_000n;

const iso = (ns: bigint) => new Date(Number(ns / 1_000_000n)).toISOString();

// The start of the minute that contains the time.
export function minuteAt(ns: bigint): bigint {
  return ns - (((ns % kMinuteNs) + kMinuteNs) % kMinuteNs);
}

// The first minute that starts at or after the time. Its answer contains what changed at that time,
// because the history stores the first answer of each minute.
export function minuteAfter(ns: bigint): bigint {
  return minuteAt(ns + kMinuteNs - 1n);
}

// The value in the URL and in forms. Undefined if it is not a time since 1970. Links may omit the seconds.
export function parseMinute(text: string): bigint | undefined {
  const ns = toNs(text.replace(/(T\d\d:\d\d)Z$/, "$1:00Z"));
  return ns === undefined || ns < 0n ? undefined : minuteAt(ns);
}

// Undefined: the views show the present.
export function minuteOf(query: Record<string, string>): bigint | undefined {
  return query["time"] ? parseMinute(query["time"]) : undefined;
}

// The value in the URL.
export const urlTime = (minute: bigint) => iso(minute).replace(".000Z", "Z");

export const minuteText = (minute: bigint) => `${iso(minute).slice(0, 16).replace("T", " ")} UTC`;
export const clockText = (minute: bigint) => `${iso(minute).slice(11, 16)} UTC`;

const kPastCalls = /^\/api\/v1\/(jobs(\/[^/?]+)?|hotspots|findings|anomalies|service-levels|links)(\?|$)/;

// The path of the past answer. The same path if the call has no past answers. The last second of the
// minute selects both the lists, which are those at its start, and the link loads of the whole minute.
export function pathAt(path: string, minute: bigint): string {
  if (!kPastCalls.test(path)) return path;
  const query = new URLSearchParams({ at_time: iso(minute + 59_000_000_000n).replace(".000Z", "Z") });
  return `${path}${path.includes("?") ? "&" : "?"}${query}`;
}

export function withoutAtTime(path: string): string {
  return path.replace(/[?&]at_time=[^&]*$/, "");
}

export const isPastPath = (path: string) => withoutAtTime(path) !== path;

// The end of the time that the response describes, if it is fixed. Such a response no longer changes
// after that time. In milliseconds.
export function endOfPath(path: string): number | undefined {
  const query = new URLSearchParams(path.split("?")[1]);
  const end = query.get("at_time") ?? (path.startsWith("/api/v1/history/") ? query.get("end_time") : null);
  const ms = Date.parse(end ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
