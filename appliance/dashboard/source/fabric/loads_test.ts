// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Finding, Hotspot } from "../api/messages";
import { leafSpine, load } from "./fixture";
import { busiest, colour, indexLoads } from "./loads";
import { collectMarks } from "./marks";
import { binOf, metricNamed } from "./metrics";
import { buildFabric } from "./model";
import { linksOfPaths } from "./path_links";

const fabric = buildFabric(leafSpine({ hosts: 2, hostsPerLeaf: 1, spines: 2 }));
const loads = indexLoads({
  start_time: "2026-01-31T12:00:00Z", end_time: "2026-01-31T12:00:01Z", total_size: 3, next_page_token: "",
  link_loads: [load("leaf0:up0", 0.2), load("spine0:down0", 0.95), load("leaf0:up1", undefined, { paused_duration: "0.030s" })],
});
const linkOf = (port: string) => fabric.byPort.get(port)?.link as number;

it("colours a link by its worse direction", () => {
  const { bins } = colour(fabric, loads, metricNamed("load"));
  expect(bins[linkOf("leaf0:up0")]).toBe(5);
});

it("distinguishes unknown from idle", () => {
  const { bins } = colour(fabric, loads, metricNamed("load"));
  expect(bins[linkOf("leaf0:up1")]).toBe(-1);
  expect(bins[linkOf("leaf1:up1")]).toBe(-1);
  expect(colour(fabric, loads, metricNamed("pause")).bins[linkOf("leaf0:up0")]).toBe(0);
});

it("converts pause time to a share of the window", () => {
  const { values } = colour(fabric, loads, metricNamed("pause"));
  expect(values[linkOf("leaf0:up1")]).toBeCloseTo(0.03);
});

it("gives 0 the first colour even if all bounds are 0", () => {
  expect(binOf(0, [0, 0, 0])).toBe(0);
  expect(binOf(0.3, [0.1, 0.25, 0.5])).toBe(2);
});

it("lists the busiest first without unknown loads", () => {
  expect(busiest(loads, metricNamed("load"), 9).map(({ port }) => port)).toEqual(["spine0:down0", "leaf0:up0"]);
});

const kEndNs = 1_769_860_800_000_000_050n; // end of the hotspot
const finding = { kind: "gray_loss", place: "leaf0:up1-spine1:down0", direction: "leaf0:up1" } as Finding;
const hotspot = { port: "leaf0:up1", cause: "CAUSE_INCAST", end_time: "2026-01-31T12:00:00.000000050Z", lost_times: [] } as unknown as Hotspot;

it("marks a place once, preferring a fault to a hotspot", () => {
  const marks = collectMarks(fabric, [finding], [hotspot], 0n, true);
  expect(marks).toEqual([{ element: { kind: "link", link: linkOf("leaf0:up1") }, label: "gray loss", fault: true }]);
});

it("does not mark resolved faults and old hotspots", () => {
  expect(collectMarks(fabric, [{ ...finding, end_time: "2026-01-31T11:00:00Z" }], [hotspot], kEndNs + 1n, true)).toEqual([]);
  expect(collectMarks(fabric, [], [hotspot], kEndNs, true)).toMatchObject([{ label: "incast" }]);
  expect(collectMarks(fabric, [{ ...finding, end_time: "2026-01-31T11:00:00Z" }], [], 0n, false)).toHaveLength(1);
});

it("weights links of paths by their probability", () => {
  const interval = { ports: ["host0:mlx5_0", "leaf0:up1"], probability: 0.6, certain_ports: ["host0:mlx5_0"], shares: [] };
  const links = linksOfPaths(fabric, [{ intervals: [interval] } as never]);
  expect(links.get(linkOf("host0:mlx5_0"))).toBe(1);
  expect(links.get(linkOf("leaf0:up1"))).toBe(0.6);
});
