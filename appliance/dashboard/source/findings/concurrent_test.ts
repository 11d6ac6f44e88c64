// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Anomaly } from "../api/messages";
import { groupByFinding, isConcurrent } from "./concurrent";
import { makeFinding } from "./fixture";

const kFinding = makeFinding({ start_time: "2026-01-31T12:00:00Z", end_time: "2026-01-31T12:10:00Z" });

function anomaly(place: string, start: string, end: string): Anomaly {
  return {
    kind: "KIND_PORT", place, start_time: `2026-01-31T${start}Z`, end_time: `2026-01-31T${end}Z`, window_count: 1,
    peer_count: 0, score: 1, probability: 0, models: [], metrics: [], episode: 0,
  };
}

it("is concurrent at an end of the link while the fault was active", () => {
  expect(isConcurrent(anomaly("leaf1:3", "12:05:00", "12:06:00"), kFinding)).toBe(true);
  expect(isConcurrent(anomaly("spine0:1", "11:50:00", "12:00:00"), kFinding)).toBe(true);
});

it("is not concurrent elsewhere, before or after", () => {
  expect(isConcurrent(anomaly("leaf1:33", "12:05:00", "12:06:00"), kFinding)).toBe(false);
  expect(isConcurrent(anomaly("leaf1:3", "11:50:00", "11:59:59"), kFinding)).toBe(false);
  expect(isConcurrent(anomaly("leaf1:3", "12:10:01", "12:11:00"), kFinding)).toBe(false);
});

it("has no upper bound while the fault is active", () => {
  expect(isConcurrent(anomaly("leaf1:3", "18:00:00", "18:01:00"), makeFinding())).toBe(true);
});

it("groups anomalies by the first finding at their place and time", () => {
  const [first, second] = [kFinding, makeFinding({ kind: "bit_errors", end_time: "2026-01-31T13:00:00Z" })];
  const [one, two, three] = [
    anomaly("leaf1:3", "12:05:00", "12:06:00"), anomaly("leaf1:3", "12:20:00", "12:21:00"),
    anomaly("leaf2:1", "12:05:00", "12:06:00"),
  ];
  expect(groupByFinding([one, two, three], [first, second])).toEqual({
    byFinding: [{ finding: first, anomalies: [one] }, { finding: second, anomalies: [two] }], rest: [three],
  });
});

it("omits findings without anomalies", () => {
  expect(groupByFinding([], [kFinding])).toEqual({ byFinding: [], rest: [] });
});
