// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Event as ApplianceEvent, EventKind, Finding } from "../api/messages";
import { makeFinding } from "../findings/fixture";
import { toNs } from "../format/moments";
import { eventsOfFindings, timelineRows } from "./spans";

const at = (clock: string) => `2026-01-31T${clock}Z`;
const kRange = { startNs: toNs(at("11:00:00")) ?? 0n, endNs: toNs(at("12:00:00")) ?? 0n, isLive: true };

function event(kind: EventKind, clock: string, fields: Partial<Finding> = {}): ApplianceEvent {
  return { cursor: "0", kind, event_time: at(clock), sentence: "", finding: makeFinding(fields) };
}
const spansOf = (events: ApplianceEvent[], findings: Finding[] = []) =>
  timelineRows(events, findings, kRange).flatMap((row) => row.spans.map(({ startNs, endNs, end }) =>
    [startNs, endNs].map((ns) => (ns === undefined ? "" : new Date(Number(ns / 1_000_000n)).toISOString().slice(11, 19))).join("-") + ` ${end}`));

it("joins the start and the end of a fault, in any order", () => {
  const started = event("KIND_FAULT_STARTED", "11:10:05", { start_time: at("11:10:00") });
  const resolved = event("KIND_FAULT_RESOLVED", "11:20:09", { start_time: at("11:10:00"), end_time: at("11:20:00") });
  expect(spansOf([resolved, started])).toEqual(["11:10:00-11:20:00 resolved"]);
});

it("keeps occurrences apart that are more than five minutes apart", () => {
  const times = [["11:10:00", "11:12:00"], ["11:30:00", "11:31:00"]] as const;
  const events = times.map(([start, end]) => event("KIND_FAULT_RESOLVED", end, { start_time: at(start), end_time: at(end) }));
  expect(spansOf(events)).toEqual(["11:10:00-11:12:00 resolved", "11:30:00-11:31:00 resolved"]);
});

it("ends a withdrawn fault when it was withdrawn", () => {
  const withdrawn = event("KIND_FAULT_WITHDRAWN", "11:15:00", { start_time: undefined });
  expect(spansOf([event("KIND_FAULT_STARTED", "11:10:00", { start_time: at("11:10:00") }), withdrawn]))
    .toEqual(["11:10:00-11:15:00 withdrawn"]);
});

it("is ongoing only if a current finding says so", () => {
  const started = event("KIND_FAULT_STARTED", "11:10:00", { start_time: at("11:10:00") });
  expect(spansOf([started])).toEqual(["11:10:00- unknown"]);
  expect(spansOf([started], [makeFinding({ start_time: at("11:09:30") })])).toEqual(["11:09:30- ongoing"]);
});

it("has no row for a fault outside the range", () => {
  expect(spansOf([], [makeFinding({ start_time: at("09:00:00"), end_time: at("10:00:00") })])).toEqual([]);
  expect(spansOf([], [makeFinding({ start_time: at("09:00:00") })])).toEqual(["09:00:00- ongoing"]);
});

it("derives events from findings", () => {
  const kinds = eventsOfFindings([makeFinding({ end_time: at("12:01:00") }), makeFinding()]).map(({ kind }) => kind);
  expect(kinds).toEqual(["KIND_FAULT_STARTED", "KIND_FAULT_RESOLVED", "KIND_FAULT_STARTED"]);
});

it("ends the faults of a past minute as later events say", () => {
  const started = event("KIND_FAULT_STARTED", "11:10:05", { start_time: at("11:10:00") });
  const resolved = event("KIND_FAULT_RESOLVED", "11:20:09", { start_time: at("11:10:00"), end_time: at("11:20:00") });
  const finding = makeFinding({ start_time: at("11:10:00") });
  const ends = (events: ApplianceEvent[]) => timelineRows(events, [finding], kRange, toNs(at("11:15:00"))).flatMap((row) => row.spans.map(({ end }) => end));
  expect(ends([started, resolved])).toEqual(["resolved"]);
  expect(ends([started])).toEqual(["ongoing"]);
  const repeated = event("KIND_FAULT_STARTED", "11:15:01", { start_time: at("11:10:00") });
  expect(ends([repeated])).toEqual(["ongoing"]);
});
