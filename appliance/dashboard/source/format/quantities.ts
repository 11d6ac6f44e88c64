// SPDX-License-Identifier: BSD-3-Clause
// Formats quantities with three digits, decimal prefixes, and a space before the unit.
import type { Duration, Int64 } from "../api/messages";

export function toNumber(value: Int64 | number | undefined): number {
  return value === undefined ? 0 : Number(value);
}

function threeDigits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toString();
  return value.toFixed(size >= 10 ? 1 : 2);
}

const kPrefixes = ["", "k", "M", "G", "T", "P"];

export function scaled(value: number, unit: string): string {
  let rest = value;
  let step = 0;
  // 999.6 would round to 1000 with the smaller prefix.
  while (Math.abs(rest) >= 999.5 && step + 1 < kPrefixes.length) {
    rest /= 1000;
    ++step;
  }
  return `${threeDigits(rest)} ${kPrefixes[step]}${unit}`.trimEnd();
}

export const bytes = (value: Int64 | number) => scaled(toNumber(value), "B");
export const bitRate = (value: Int64 | number) => scaled(toNumber(value), "b/s");
export const perSecond = (value: number) => scaled(value, "/s");

// All digits below ten million, three digits above.
export function count(value: Int64 | number): string {
  const number = toNumber(value);
  if (Math.abs(number) >= 10_000_000) return scaled(number, "");
  return Math.round(number).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function plural(value: Int64 | number, noun: string): string {
  const ending = toNumber(value) === 1 ? "" : /(ch|s)$/.test(noun) ? "es" : "s";
  return `${count(value)} ${noun}${ending}`;
}

export function percent(ratio: number, digits = 0): string {
  const value = ratio * 100;
  if (value > 0 && value < 1 && digits === 0) return value < 0.1 ? "<0.1 %" : `${value.toFixed(1)} %`;
  if (digits === 0 && ratio < 1 && value >= 99.5) return ">99 %";
  return `${value.toFixed(digits)} %`;
}

// Formats a value with a unit name of the API.
export function inUnit(value: number, unit: string): string {
  if (unit === "ns") return duration(value);
  if (unit === "s" || unit === "seconds") return duration(value * 1e9);
  if (unit === "B" || unit === "bytes") return bytes(value);
  if (unit === "bit/s" || unit === "b/s") return bitRate(value);
  if (unit === "1/s") return perSecond(value);
  if (unit === "ratio" || unit === "share") return percent(value, 1);
  return `${scaled(value, "")} ${unit}`.trimEnd();
}

// Formats ages in whole seconds, because tenths would only flicker.
export function coarse(ns: number): string {
  return ns < 120e9 ? `${Math.floor(ns / 1e9)} s` : duration(ns);
}

// "0.000125s" in nanoseconds. 0 if the duration is unset.
export function toNanoseconds(value: Duration | undefined): number {
  const [, sign, seconds = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(value ?? "") ?? [];
  const ns = Number(seconds) * 1e9 + Number(fraction.padEnd(9, "0"));
  return sign ? -ns : ns;
}

// Formats a duration of the API, or a number of nanoseconds.
export function duration(length: Duration | number | undefined): string {
  const value = typeof length === "number" ? length : toNanoseconds(length);
  const size = Math.abs(value);
  if (size < 1000) return `${threeDigits(value)} ns`;
  if (size < 999_500) return `${threeDigits(value / 1e3)} µs`;
  if (size < 999.5e6) return `${threeDigits(value / 1e6)} ms`;
  if (size < 120e9) return `${threeDigits(value / 1e9)} s`;
  const minutes = Math.round(size / 60e9);
  if (minutes < 120) return `${minutes} min`;
  if (minutes < 48 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}
