// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { JobPoint } from "../api/messages";
import { axisTime } from "../parts/plot";
import { iterationOf, jobBitRate, stateValue, timeline, timeOf, valuesAt } from "./points";
import { withoutValues } from "./use_history";
import { historyPath, windowOf, windowText } from "./window";

const kNow = Date.parse("2026-11-30T12:34:56Z") / 1000;
const at = (clock: string) => Date.parse(`2026-11-30T${clock}:00Z`) / 1000;

it("ends a range at the next minute, so that the request changes once a minute", () => {
  expect(windowOf({}, kNow)).toEqual({ startS: at("11:35"), endS: at("12:35") });
  expect(windowOf({ range: "15m" }, kNow)).toEqual({ startS: at("12:20"), endS: at("12:35") });
  expect(windowOf({ range: "nonsense" }, kNow)).toEqual(windowOf({}, kNow));
});

it("has the ends of a fixed range", () => {
  expect(windowOf({ start: "2026-11-30T10:00Z", end: "2026-11-30T10:02:00Z" }, kNow)).toEqual({ startS: at("10:00"), endS: at("10:02") });
});

it("ignores ends that are not a range", () => {
  expect(windowOf({ start: "2026-11-30T11:00Z", end: "2026-11-30T10:00Z" }, kNow)).toEqual(windowOf({}, kNow));
  expect(windowOf({ start: "yesterday", end: "now" }, kNow)).toEqual(windowOf({}, kNow));
});

it("requests the range", () => {
  expect(historyPath("links", "leaf0:Eth1/1", { startS: at("10:00"), endS: at("11:00") })).toBe(
    "/api/v1/history/links?port=leaf0%3AEth1%2F1&start_time=2026-11-30T10%3A00%3A00.000Z&end_time=2026-11-30T11%3A00%3A00.000Z&max_points=500");
});

it("names both days of a range", () => {
  expect(windowText({ startS: at("10:00"), endS: at("11:00") })).toBe("2026-11-30 10:00 to 11:00 UTC");
  expect(windowText({ startS: at("10:00") - 86_400, endS: at("11:00") })).toBe("2026-11-29 10:00 to 2026-11-30 11:00 UTC");
});

it("shows the date if a chart spans more than a day", () => {
  expect(axisTime(at("10:00"), 3600)).toBe("10:00");
  expect(axisTime(at("10:00"), 30)).toBe("10:00:00");
  expect(axisTime(at("10:00"), 604_800)).toBe("11-30 10:00");
});

const point = (clock: string, changes: Partial<JobPoint> = {}): JobPoint => ({
  start_time: `2026-11-30T${clock}:00Z`, bytes: "6000000", iteration_count: 3, finding_count: 0,
  service_level_state: "STATE_MET", snapshot_count: 60, ...changes,
});

it("interrupts the lines where points are missing", () => {
  const points = [point("10:00", { mean_iteration_period: "0.5s" }), point("10:01"), point("10:09")];
  const times = timeline([points], 60);
  expect(times).toEqual([at("10:00"), at("10:01"), at("10:02"), at("10:09")]);
  expect(valuesAt(times, points, jobBitRate(60))).toEqual([800_000, 800_000, null, 800_000]);
  expect(valuesAt(times, points, iterationOf)).toEqual([5e8, null, null, null]);
});

it("aligns points of several lists", () => {
  const [a, b] = [[point("10:00")], [point("10:01")]];
  const times = timeline([a, b], 60);
  expect(valuesAt(times, b, timeOf)).toEqual([null, at("10:01")]);
});

it("does not show missing service level data as within bounds", () => {
  expect(stateValue(point("10:00", { service_level_state: "STATE_NO_DATA" }))).toBeUndefined();
  expect(stateValue(point("10:00"))).toBe(0);
  expect(stateValue(point("10:00", { service_level_state: "STATE_MISSED" }))).toBe(2);
});

it("shows a job without history as one without points, and other errors as errors", () => {
  const refused = (reason: string) => ({ status: "refused", error: { reason, message: "" }, path: "", receivedMs: 0 }) as const;
  expect(withoutValues(refused("UNKNOWN_JOB")).value).toEqual({ step: "60s", points: [] });
  expect(withoutValues(refused("NO_HISTORY")).value).toBeUndefined();
});
