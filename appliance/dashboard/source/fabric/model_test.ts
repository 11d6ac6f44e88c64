// SPDX-License-Identifier: BSD-3-Clause
import { describe, expect, it } from "vitest";
import { leafSpine } from "./fixture";
import { buildFabric, naturally, otherEnd, resolvePlace } from "./model";

const fabric = buildFabric(leafSpine({ hosts: 4, hostsPerLeaf: 2, spines: 2 }));

describe("resolvePlace", () => {
  it("finds a switch", () => {
    expect(resolvePlace(fabric, "leaf1")).toEqual({ kind: "node", node: fabric.nodeByName.get("leaf1") });
  });
  it("finds a link by its two ports", () => {
    const link = fabric.byPort.get("leaf0:up1")?.link;
    expect(resolvePlace(fabric, "leaf0:up1-spine1:down0")).toEqual({ kind: "link", link });
  });
  it("maps a NIC to its link and a GPU to its host", () => {
    expect(resolvePlace(fabric, "host2:mlx5_0")?.kind).toBe("link");
    expect(resolvePlace(fabric, "host2:gpu:0")).toEqual({ kind: "node", node: fabric.nodeByName.get("host2") });
  });
  it("finds nothing for unknown names", () => {
    expect(resolvePlace(fabric, "tor9")).toBeUndefined();
    expect(resolvePlace(fabric, "")).toBeUndefined();
  });
  it("splits names that contain hyphens", () => {
    const topology = leafSpine({ hosts: 1, hostsPerLeaf: 1, spines: 1 });
    const text = JSON.stringify(topology).replaceAll("leaf0", "pod-1-leaf0");
    const hyphens = buildFabric(JSON.parse(text));
    expect(resolvePlace(hyphens, "pod-1-leaf0:up0-spine0:down0")?.kind).toBe("link");
  });
});

it("names the port at the other end", () => {
  expect(otherEnd(fabric, "spine1:down0")).toBe("leaf0:up1");
  expect(otherEnd(fabric, "spine7:down0")).toBeUndefined();
});

it("ignores links of undeclared nodes", () => {
  const topology = leafSpine({ hosts: 1, hostsPerLeaf: 1, spines: 1 });
  topology.links.push({ a: "ghost:1", b: "spine0:9", bits_per_second: "1" });
  expect(buildFabric(topology).links).toHaveLength(2);
});

it("sorts names numerically", () => {
  expect(["leaf10", "leaf2"].sort(naturally)).toEqual(["leaf2", "leaf10"]);
});
