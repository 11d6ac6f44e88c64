// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Hotspot } from "../api/messages";
import { groupByPort, matches } from "./hotspot_groups";

const hotspot = (port: string, lost: Record<string, string>, changes: Partial<Hotspot> = {}) => ({
  port, cause: "CAUSE_INCAST", ce_marked_packets: "1", dropped_packets: "0", end_time: "2026-11-30T10:00:00Z",
  lost_times: Object.entries(lost).map(([job_id, lost_duration]) => ({ job_id, lost_duration, ranks: [] })), ...changes,
}) as unknown as Hotspot;

it("sorts ports by the delay that they cause to jobs", () => {
  const groups = groupByPort([
    hotspot("a:1", { x: "0.2s" }), hotspot("b:1", { x: "0.1s", y: "0.4s" }), hotspot("a:1", { y: "0.1s" }), hotspot("c:1", {}),
  ]);
  expect(groups.map(({ port, costNs }) => [port, costNs])).toEqual([["b:1", 5e8], ["a:1", 3e8], ["c:1", 0]]);
  expect(groups[0]?.costByJob).toEqual([["y", 4e8], ["x", 1e8]]);
  expect(groups[1]?.hotspots).toHaveLength(2);
});

it("counts only the delay of a selected job", () => {
  const groups = groupByPort([hotspot("a:1", { x: "0.2s" }), hotspot("b:1", { x: "0.1s", y: "0.4s" })], "x");
  expect(groups.map(({ port, costNs }) => [port, costNs])).toEqual([["a:1", 2e8], ["b:1", 1e8]]);
});

it("adds up the counters of a port, and keeps an unknown queue depth unknown", () => {
  const [known] = groupByPort([
    hotspot("a:1", {}, { peak_queue_bytes: "5", end_time: "2026-11-30T10:00:02Z" }), hotspot("a:1", {}, { peak_queue_bytes: "9" }),
  ]);
  expect(known).toMatchObject({ ceMarked: 2, peakBytes: 9, last: "2026-11-30T10:00:02Z" });
  expect(groupByPort([hotspot("a:1", {})])[0]?.peakBytes).toBeUndefined();
});

it("lists the most expensive cause first", () => {
  const [group] = groupByPort([hotspot("a:1", { x: "0.1s" }), hotspot("a:1", { x: "0.2s" }, { cause: "CAUSE_PAUSED" })]);
  expect(group?.causes).toEqual(["CAUSE_PAUSED", "CAUSE_INCAST"]);
});

it("filters by cause and by a part of the port", () => {
  expect(matches(hotspot("leaf1:Eth1", {}), { cause: "incast", port: "LEAF1" })).toBe(true);
  expect(matches(hotspot("leaf1:Eth1", {}), { cause: "paused", port: "" })).toBe(false);
  expect(matches(hotspot("leaf1:Eth1", {}), { cause: "", port: "leaf2" })).toBe(false);
});
