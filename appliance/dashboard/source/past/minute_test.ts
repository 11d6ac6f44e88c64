// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { toNs } from "../format/moments";
import { endOfPath, minuteAfter, minuteOf, minuteText, pathAt, urlTime, withoutAtTime } from "./minute";

const kMinute = toNs("2026-01-31T12:03:00Z") ?? 0n;

it("reads the minute from the URL, with or without seconds", () => {
  expect(minuteOf({ time: "2026-01-31T12:03:00Z" })).toBe(kMinute);
  expect(minuteOf({ time: "2026-01-31T12:03Z" })).toBe(kMinute);
  expect(minuteOf({ time: "2026-01-31T12:03:42.5Z" })).toBe(kMinute);
  expect(minuteOf({ time: "yesterday" })).toBeUndefined();
  expect(minuteOf({})).toBeUndefined();
  expect(urlTime(kMinute)).toBe("2026-01-31T12:03:00Z");
  expect(minuteText(kMinute)).toBe("2026-01-31 12:03 UTC");
});

it("shows an event in the first minute that starts after it", () => {
  expect(minuteAfter(kMinute - 1n)).toBe(kMinute);
  expect(minuteAfter(kMinute)).toBe(kMinute);
  expect(minuteAfter(kMinute + 1n)).toBe(kMinute + 60_000_000_000n);
});

it("requests the past answers of the calls that have them", () => {
  const time = "at_time=2026-01-31T12%3A03%3A59Z";
  for (const path of ["jobs", "jobs/a%2Fb", "hotspots", "findings", "anomalies", "service-levels", "links"]) {
    expect(pathAt(`/api/v1/${path}`, kMinute)).toBe(`/api/v1/${path}?${time}`);
  }
  expect(pathAt("/api/v1/hotspots?job_id=a&page_size=9", kMinute)).toBe(`/api/v1/hotspots?job_id=a&page_size=9&${time}`);
  for (const path of ["", "/api/v1/topology", "/api/v1/health", "/api/v1/sources", "/api/v1/paths?job_id=a", "/api/v1/history/jobs?job_id=a"]) {
    expect(pathAt(path, kMinute)).toBe(path);
  }
});

it("removes the time from a path", () => {
  for (const path of ["/api/v1/jobs", "/api/v1/hotspots?page_size=9"]) expect(withoutAtTime(pathAt(path, kMinute))).toBe(path);
});

it("knows which responses describe a fixed time", () => {
  expect(endOfPath(pathAt("/api/v1/jobs", kMinute))).toBe(Date.parse("2026-01-31T12:03:59Z"));
  expect(endOfPath("/api/v1/history/events?start_time=2026-01-31T11%3A00%3A00Z&end_time=2026-01-31T12%3A00%3A00Z")).toBe(Date.parse("2026-01-31T12:00:00Z"));
  expect(endOfPath("/api/v1/history/events?start_time=2026-01-31T11%3A00%3A00Z")).toBeUndefined();
  expect(endOfPath("/api/v1/jobs")).toBeUndefined();
});
