// SPDX-License-Identifier: BSD-3-Clause
// The time range of the charts, from that of the URL.
import { rangeOf } from "../range/range";

export interface TimeWindow {
  startS: number;
  endS: number;
}

const kMinuteS = 60;
const kMaxPoints = 500; // about one for each pixel of a chart

const utcText = (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`;

export const secondsOf = (ns: bigint) => Number(ns / 1_000_000n) / 1000;
export const nanosecondsOf = (seconds: number) => BigInt(Math.round(seconds * 1000)) * 1_000_000n;

// A range that ends now ends at the next full minute, because the history stores the values of full
// minutes. The last minute has no values yet: the appliance writes them when it ends.
export function windowOf(query: Record<string, string>, nowS: number): TimeWindow {
  const range = rangeOf(query, nanosecondsOf(Math.ceil(nowS / kMinuteS) * kMinuteS));
  return { startS: secondsOf(range.startNs), endS: secondsOf(range.endNs) };
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
