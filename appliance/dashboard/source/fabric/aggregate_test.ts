// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { aggregate, colourShown, groupsOf, shownElement, shownMarks, wholeElement } from "./aggregate";
import { leafSpine, load } from "./fixture";
import { layOut } from "./layout";
import { colour, indexLoads } from "./loads";
import { metricNamed } from "./metrics";
import { buildFabric } from "./model";

// Two leaves for each pod.
function podded(hosts: number, hostsPerLeaf = 4, spines = 2) {
  const topology = leafSpine({ hosts, hostsPerLeaf, spines });
  for (const node of topology.nodes) {
    const number = Number(/\d+$/.exec(node.name)?.[0]);
    if (node.tier === "TIER_LEAF") node.pod = Math.floor(number / 2);
    if (node.tier === "TIER_HOST") node.pod = Math.floor(number / hostsPerLeaf / 2);
  }
  return buildFabric(topology);
}

const closed = () => false;

it("shows each pod as one node, with one line to each spine", () => {
  const fabric = podded(16);
  const shown = aggregate(fabric, groupsOf(fabric), closed);
  expect(shown.fabric.nodes.map((node) => node.name).sort()).toEqual(["pod 0", "pod 1", "spine0", "spine1"]);
  expect(shown.fabric.links).toHaveLength(4);
  expect(shown.linksOf.map((links) => links.length)).toEqual([2, 2, 2, 2]);
});

it("shows the nodes and links of an open pod", () => {
  const fabric = podded(16);
  const shown = aggregate(fabric, groupsOf(fabric), (group) => group.name === "pod 1");
  expect(shown.fabric.nodes).toHaveLength(2 + 1 + 2 + 8);
  expect(shown.fabric.links).toHaveLength(2 + 4 + 8);
  const host = fabric.nodeByName.get("host15") ?? -1;
  expect(shown.fabric.nodes[shown.shownNode[host] ?? -1]?.name).toBe("host15");
});

it("groups the hosts below the same leaves if there are no pods", () => {
  const fabric = buildFabric(leafSpine({ hosts: 8, hostsPerLeaf: 4, spines: 2 }));
  expect(groupsOf(fabric).map(({ name, nodes }) => [name, nodes.length])).toEqual([["hosts of leaf0", 4], ["hosts of leaf1", 4]]);
  expect(groupsOf(buildFabric(leafSpine({ hosts: 4, hostsPerLeaf: 4, spines: 2 })))).toEqual([]);
});

it("colours a line by its worst link, and finds that link again", () => {
  const fabric = podded(16);
  const shown = aggregate(fabric, groupsOf(fabric), closed);
  const loads = indexLoads({ link_loads: [load("leaf0:up0", 0.1), load("leaf1:up0", 0.95)], total_size: 2, next_page_token: "" });
  const whole = colour(fabric, loads, metricNamed("load"));
  const link = fabric.byPort.get("leaf1:up0")?.link ?? -1;
  const line = shown.shownLink[link] ?? -1;
  const colouring = colourShown(shown, whole);
  expect(colouring.values[line]).toBe(0.95);
  expect(colouring.bins[line]).toBe(5);
  expect(wholeElement(shown, whole.values, { kind: "link", link: line })).toEqual({ kind: "link", link });
});

it("marks the closed group that contains a fault, once", () => {
  const fabric = podded(16);
  const shown = aggregate(fabric, groupsOf(fabric), closed);
  const at = (port: string) => ({ kind: "link", link: fabric.byPort.get(port)?.link ?? -1 }) as const;
  const marks = shownMarks(shown, fabric, [
    { element: at("host0:mlx5_0"), label: "first", fault: true }, { element: at("host1:mlx5_0"), label: "second", fault: true },
  ]);
  expect(marks).toEqual([{ element: { kind: "node", node: shown.fabric.nodeByName.get("pod 0") }, label: "first", fault: true }]);
  expect(wholeElement(shown, new Float64Array(), shownElement(shown, fabric, at("host0:mlx5_0")))).toBeUndefined();
});

it("draws 4,096 hosts with few lines", () => {
  const fabric = podded(4096, 32, 16);
  const shown = aggregate(fabric, groupsOf(fabric), (group) => group.name === "pod 5");
  const layout = layOut(shown.fabric, { aspect: 2, mostSingleHosts: 64 });
  expect(layout.rows.map((row) => row.tier)).toEqual(["spine", "pod", "leaf", "host"]);
  expect(layout.lines.length).toBeLessThan(1200);
});
