// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Event as ApplianceEvent } from "../api/messages";
import { toNs } from "../format/moments";
import { eventsWithin, historyPath } from "./past_events";
import { rangeOf } from "../range/range";

const ns = (time: string) => toNs(time) ?? 0n;

it("requests the same path for a minute while the range moves", () => {
  const paths = ["12:00:01", "12:00:59", "12:01:00"].map((clock) => historyPath(rangeOf({}, ns(`2026-01-31T${clock}Z`))));
  expect(paths[0]).toBe("/api/v1/history/events?start_time=2026-01-31T11%3A00%3A00Z&page_size=1000");
  expect(paths[1]).toBe(paths[0]);
  expect(paths[2]).not.toBe(paths[0]);
});

it("requests both ends of a fixed range", () => {
  const query = { start: "2026-01-30T08:00:00Z", end: "2026-01-30T09:00:00Z" };
  expect(historyPath(rangeOf(query, 0n))).toMatch(/start_time=2026-01-30T08.*end_time=2026-01-30T09/);
});

it("keeps the events of the range, the most recent first", () => {
  const events = ["10:59:59", "11:00:00", "11:59:00", "12:00:00"].map(
    (clock) => ({ event_time: `2026-01-31T${clock}Z` }) as ApplianceEvent,
  );
  const range = { startNs: ns("2026-01-31T11:00:00Z"), endNs: ns("2026-01-31T12:00:00Z"), isLive: false };
  expect(eventsWithin(events, range)).toEqual([events[2], events[1]]);
});
