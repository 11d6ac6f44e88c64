// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Health } from "../api/messages";
import { freshnessOf } from "./freshness";

const kNowMs = Date.parse("2026-01-31T12:00:00Z");

function health(data: string, window = "10s", published = "2026-01-31T12:00:00Z"): Health {
  return {
    current_time: "2026-01-31T12:00:00Z",
    snapshot: { version: "7", data_time: data, publish_time: published, window_duration: window },
  } as Health;
}

it("is the age of the data, not of the snapshot that contains it", () => {
  expect(freshnessOf(health("2026-01-31T11:59:15Z"), kNowMs, kNowMs)).toEqual({ ageNs: 45e9, isOld: true });
});

it("grows while the appliance does not respond", () => {
  const answer = health("2026-01-31T11:59:50Z");
  expect(freshnessOf(answer, kNowMs, kNowMs)).toEqual({ ageNs: 10e9, isOld: false });
  expect(freshnessOf(answer, kNowMs, kNowMs + 21_000)).toEqual({ ageNs: 31e9, isOld: true });
});

it("is old after three windows, but not within the interval of the requests", () => {
  expect(freshnessOf(health("2026-01-31T11:59:30Z"), kNowMs, kNowMs)?.isOld).toBe(false);
  expect(freshnessOf(health("2026-01-31T11:59:55Z", "1s"), kNowMs, kNowMs)?.isOld).toBe(false);
  expect(freshnessOf(health("2026-01-31T11:59:53Z", "1s"), kNowMs, kNowMs)?.isOld).toBe(true);
});

it("uses the appliance's clock", () => {
  const browser = kNowMs - 3_600_000;
  expect(freshnessOf(health("2026-01-31T11:59:50Z"), browser, browser)?.ageNs).toBe(10e9);
});

it("is not negative, and unknown before the first snapshot", () => {
  expect(freshnessOf(health("2026-01-31T12:00:02Z"), kNowMs, kNowMs)?.ageNs).toBe(0);
  expect(freshnessOf({ current_time: "2026-01-31T12:00:00Z" } as Health, kNowMs, kNowMs)).toBeUndefined();
});
