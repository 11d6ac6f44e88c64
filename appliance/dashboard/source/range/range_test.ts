// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { toNs } from "../format/moments";
import { isPinned, queryOfEnds, queryOfMinute, queryOfPresent, queryOfRange, rangeAt, rangeName, rangeOf, rangeProblem, ticksOf, timestampOf } from "./range";

const kNow = toNs("2026-01-31T12:00:00Z") ?? 0n;
const texts = (query: Record<string, string>) => {
  const { startNs, endNs } = rangeOf(query, kNow);
  return [timestampOf(startNs), timestampOf(endNs)];
};

it("is the last hour by default, and for an unknown name", () => {
  expect(texts({})).toEqual(["2026-01-31T11:00:00Z", "2026-01-31T12:00:00Z"]);
  expect(rangeName({ range: "2y" })).toBe("1h");
});

it("is relative to now, or fixed", () => {
  expect(texts({ range: "7d" })[0]).toBe("2026-01-24T12:00:00Z");
  const fixed = { start: "2026-01-30T08:00:00Z", end: "2026-01-30T09:00:00Z" };
  expect(texts(fixed)).toEqual([fixed.start, fixed.end]);
  expect(rangeOf(fixed, kNow).isLive).toBe(false);
});

it("reports an invalid custom range", () => {
  expect(rangeProblem({ start: "2026-01-30T08:00:00Z" })).toMatch(/needs a start and an end/);
  expect(rangeProblem({ start: "2026-01-30T09:00:00Z", end: "2026-01-30T08:00:00Z" })).toMatch(/before its end/);
  expect(rangeProblem({ range: "6h" })).toBe("");
  expect(texts({ start: "yesterday", end: "now" })).toEqual(texts({}));
});

it("keeps the ends of a zoomed range in the URL, in whole minutes", () => {
  const at = (clock: string) => toNs(`2026-01-30T${clock}Z`) ?? 0n;
  const query = queryOfEnds(at("10:00:20"), at("10:01:10"));
  expect(query).toEqual({ range: "", start: "2026-01-30T10:00:00Z", end: "2026-01-30T10:02:00Z" });
  expect(queryOfEnds(at("10:00:00"), at("10:00:01"))).toEqual(query);
  expect(queryOfRange("7d")).toEqual({ range: "7d", start: "", end: "" });
});

it("accepts links without seconds", () => {
  expect(texts({ start: "2026-01-30T08:00Z", end: "2026-01-30T09:00Z" })).toEqual(["2026-01-30T08:00:00Z", "2026-01-30T09:00:00Z"]);
});

it("has ticks at round times", () => {
  expect(ticksOf(rangeOf({}, kNow)).map((tick) => tick.text)).toEqual(
    ["11:00", "11:10", "11:20", "11:30", "11:40", "11:50", "12:00"],
  );
  expect(ticksOf(rangeOf({ range: "7d" }, kNow)).map((tick) => tick.text)).toEqual(["01-25", "01-27", "01-29", "01-31"]);
  const short = { start: "2026-01-30T08:00:00Z", end: "2026-01-30T08:00:00.010Z" };
  expect(ticksOf(rangeOf(short, kNow)).map((tick) => tick.text).slice(0, 2)).toEqual(["08:00:00.000", "08:00:00.002"]);
  const long = { start: "2024-01-01T00:00:00Z", end: "2026-01-01T00:00:00Z" };
  expect(ticksOf(rangeOf(long, kNow)).length).toBeLessThanOrEqual(7);
});

it("ends with the selected minute", () => {
  const range = rangeAt({ range: "15m" }, { nowNs: kNow, isPast: true });
  expect(range && [timestampOf(range.startNs), timestampOf(range.endNs), range.isLive]).toEqual(["2026-01-31T11:46:00Z", "2026-01-31T12:01:00Z", false]);
  expect(rangeAt({}, {})).toBeUndefined();
});

it("stays when a minute in it is selected, and is relative again in the present", () => {
  const query = { range: "6h" };
  const chosen = { ...query, ...queryOfMinute(query, kNow - 600_000_000_000n, rangeOf(query, kNow)) };
  expect(chosen).toEqual({ range: "6h", start: "2026-01-31T06:00:00Z", end: "2026-01-31T12:00:00Z", time: "2026-01-31T11:50:00Z" });
  expect(isPinned(chosen)).toBe(true);
  expect(queryOfPresent(chosen)).toEqual({ range: "6h", start: "", end: "", time: "" });
  const fixed = { start: "2026-01-31T06:00:00Z", end: "2026-01-31T07:00:00Z" };
  expect(queryOfMinute(fixed, kNow, rangeOf(fixed, kNow))).toEqual({ time: "2026-01-31T12:00:00Z" });
  expect(queryOfPresent({ ...fixed, time: "x" })).toEqual({ time: "" });
});
