// SPDX-License-Identifier: BSD-3-Clause
// Timestamps of the API (RFC 3339). Calculations use BigInt nanoseconds since the epoch, because a
// number would lose digits.
import type { Timestamp } from "../api/messages";
import { coarse } from "./quantities";

const kRfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

// Undefined if the time is unset or invalid.
export function toNs(time: Timestamp | undefined): bigint | undefined {
  const [, date, fraction = "", zone] = kRfc3339.exec(time ?? "") ?? [];
  const milliseconds = Date.parse(`${date}${zone}`);
  if (Number.isNaN(milliseconds)) return undefined;
  return BigInt(milliseconds) * 1_000_000n + BigInt(fraction.padEnd(9, "0"));
}

// A number for sorting; unset times come first.
export function sortKey(time: Timestamp | undefined): number {
  return Number(toNs(time) ?? 0n);
}

// 0 if one of the times is unset.
export function nsBetween(start: Timestamp | undefined, end: Timestamp | undefined): number {
  const [from, until] = [toNs(start), toNs(end)];
  return from === undefined || until === undefined ? 0 : Number(until - from);
}

// "06:55:03.120"; more digits for short intervals.
export function utcTime(time: Timestamp | undefined, digits = 3): string {
  const ns = toNs(time);
  if (ns === undefined) return "?";
  const text = dateOf(ns).toISOString().slice(11, 19);
  const fraction = (ns % 1_000_000_000n).toString().padStart(9, "0").slice(0, digits);
  return digits > 0 ? `${text}.${fraction}` : text;
}

export function utcDate(time: Timestamp | undefined): string {
  const ns = toNs(time);
  return ns === undefined ? "?" : dateOf(ns).toISOString().slice(0, 10);
}

export function utcFull(time: Timestamp | undefined): string {
  return `${utcDate(time)} ${utcTime(time, 6)} UTC`;
}

function dateOf(ns: bigint): Date {
  return new Date(Number(ns / 1_000_000n));
}

// What timestamps are relative to. Without a time, they are shown as times of day.
export interface Reference {
  nowNs?: bigint;
  isPast?: boolean; // nowNs is the start of a past minute
}

const kMinute = 60e9;

function relativeToPast(ago: number): string {
  if (ago <= -kMinute) return `${coarse(-ago)} later`;
  return ago < 1e9 ? "in this minute" : `${coarse(ago)} earlier`;
}

export function relative(time: Timestamp | undefined, reference: Reference): string {
  const ns = toNs(time);
  if (ns === undefined) return "?";
  if (reference.nowNs === undefined) return utcTime(time);
  const ago = Number(reference.nowNs - ns);
  if (reference.isPast) return relativeToPast(ago);
  // Tap clocks differ from the appliance's clock: slightly in the future counts as now.
  return ago < 1e9 ? "just now" : `${coarse(ago)} ago`;
}
