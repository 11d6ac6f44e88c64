// SPDX-License-Identifier: BSD-3-Clause
// Timestamps in nanoseconds since the epoch. They are strings, because a number would lose digits.
import type { Int64 } from "../api/messages";
import { coarse, duration } from "./quantities";

export function nsBetween(from: Int64, until: Int64): number {
  return Number(BigInt(until) - BigInt(from));
}

// "06:55:03.120"; more digits for short periods.
export function utcTime(ns: Int64, digits = 3): string {
  const value = BigInt(ns);
  const milliseconds = value / 1_000_000n;
  const date = new Date(Number(milliseconds));
  if (Number.isNaN(date.getTime())) return "?";
  const fraction = (value % 1_000_000_000n).toString().padStart(9, "0").slice(0, digits);
  const time = date.toISOString().slice(11, 19);
  return digits > 0 ? `${time}.${fraction}` : time;
}

export function utcDate(ns: Int64): string {
  const date = new Date(Number(BigInt(ns) / 1_000_000n));
  return Number.isNaN(date.getTime()) ? "?" : date.toISOString().slice(0, 10);
}

export function utcFull(ns: Int64): string {
  return `${utcDate(ns)} ${utcTime(ns, 6)} UTC`;
}

// What timestamps are relative to: the start of a replay, or now.
export interface Reference {
  zeroNs: Int64; // "0": none
  nowNs?: bigint;
}

export function relative(ns: Int64, reference: Reference): string {
  if (reference.zeroNs !== "0" && reference.zeroNs !== "") {
    const since = nsBetween(reference.zeroNs, ns);
    return `${since < 0 ? "−" : "+"}${duration(Math.abs(since))}`;
  }
  if (reference.nowNs === undefined) return utcTime(ns);
  const ago = Number(reference.nowNs - BigInt(ns));
  // Tap clocks differ from the appliance's clock: slightly in the future counts as now.
  return ago < 1e9 ? "just now" : `${coarse(ago)} ago`;
}
