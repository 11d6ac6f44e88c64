// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import type { TopologyNodeTier } from "../api/messages";
import { leafSpine } from "./fixture";
import { elementAt } from "./hit";
import { step } from "./keyboard";
import { layOut, type Box } from "./layout";
import { buildFabric } from "./model";

const kOptions = { aspect: 2, mostSingleHosts: 8 };
const small = buildFabric(leafSpine({ hosts: 8, hostsPerLeaf: 2, spines: 2 }));
const large = buildFabric(leafSpine({ hosts: 1024, hostsPerLeaf: 32, spines: 16, nics: 8 }));
const first = (links: number[]) => links[0] as number;

function overlaps(a: Box, b: Box): boolean {
  return Math.abs(a.x - b.x) < (a.width + b.width) / 2 && Math.abs(a.y - b.y) < (a.height + b.height) / 2;
}

describe("a small fabric", () => {
  const layout = layOut(small, kOptions);
  it("has a row for each tier, spines above hosts", () => {
    expect(layout.rows.map((row) => row.tier)).toEqual(["spine", "leaf", "host"]);
    expect(layout.rows[0]?.y).toBeLessThan(layout.rows[2]?.y as number);
  });
  it("keeps boxes apart", () => {
    layout.boxes.forEach((a, i) => layout.boxes.slice(i + 1).forEach((b) => expect(overlaps(a, b)).toBe(false)));
  });
  it("draws each link as a separate line", () => {
    expect(layout.groups).toHaveLength(0);
    expect(layout.lines).toHaveLength(small.links.length);
  });
  it("finds placed elements", () => {
    const leaf = small.nodeByName.get("leaf1") as number;
    const { x, y } = layout.boxes[leaf] as Box;
    expect(elementAt(layout, x, y, 4, first)).toEqual({ kind: "node", node: leaf });
    const line = layout.lines[layout.lineOfLink[3] as number];
    if (!line) throw new Error("link 3 has no line");
    const middle = { x: (line.x1 + line.x2) / 2, y: (line.y1 + line.y2) / 2 };
    expect(elementAt(layout, middle.x, middle.y, 1, first)).toEqual({ kind: "link", link: 3 });
    expect(elementAt(layout, -500, -500, 4, first)).toBeUndefined();
  });
});

describe("a large fabric", () => {
  const layout = layOut(large, kOptions);
  it("groups hosts with the same leaves", () => {
    expect(layout.groups).toHaveLength(32);
    expect(layout.groups[0]?.hosts).toHaveLength(32);
  });
  it("draws a group's links to a leaf as one line", () => {
    expect(layout.lines).toHaveLength(32 + 32 * 16);
    expect(layout.lines.reduce((sum, line) => sum + line.links.length, 0)).toBe(large.links.length);
  });
  it("stays within its size", () => {
    const right = Math.max(...layout.boxes.map((box) => box.x + box.width / 2));
    const bottom = Math.max(...layout.boxes.map((box) => box.y + box.height / 2));
    expect(Math.min(...layout.boxes.map((box) => box.x - box.width / 2))).toBeGreaterThanOrEqual(0);
    expect(right).toBeLessThanOrEqual(layout.width);
    expect(bottom).toBeLessThanOrEqual(layout.height);
  });
});

describe("keys", () => {
  const layout = layOut(small, kOptions);
  it("starts at the first node", () => {
    expect(step(layout, undefined, "right")).toEqual({ kind: "node", node: layout.rows[0]?.nodes[0] });
  });
  it("moves along a row and stops at its end", () => {
    const [left, right] = layout.rows[0]?.nodes as [number, number];
    expect(step(layout, left, "right")).toEqual({ kind: "node", node: right });
    expect(step(layout, right, "right")).toEqual({ kind: "node", node: right });
  });
  it("moves to the nearest node of the row below", () => {
    const spine = layout.rows[0]?.nodes[1] as number;
    const below = step(layout, spine, "down");
    expect(below?.kind === "node" && small.nodes[below.node]?.tier).toBe("leaf");
  });
});

it("accepts unknown tiers and fabrics without hosts", () => {
  const odd = leafSpine({ hosts: 1, hostsPerLeaf: 1, spines: 1 });
  odd.nodes = odd.nodes.filter((node) => node.tier !== "TIER_HOST");
  odd.nodes.forEach((node) => (node.tier = `TIER_SUPER_${node.tier}` as TopologyNodeTier));
  expect(layOut(buildFabric(odd), kOptions).rows).toHaveLength(2);
  expect(layOut(buildFabric({ name: "", nodes: [], links: [] }), kOptions).rows).toHaveLength(0);
});
