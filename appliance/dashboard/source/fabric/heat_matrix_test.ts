// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { leafSpine, load } from "./fixture";
import { heatMatrix } from "./heat_matrix";
import { colour, indexLoads } from "./loads";
import { metricNamed } from "./metrics";
import { buildFabric } from "./model";

it("shows the worst of parallel links, and no link between nodes without one", () => {
  const topology = leafSpine({ hosts: 4, hostsPerLeaf: 2, spines: 2 });
  topology.links.push({ a: "leaf0:more", b: "spine1:more", bits_per_second: "1" });
  topology.links = topology.links.filter((link) => link.a !== "leaf1:up0");
  const fabric = buildFabric(topology);
  const loads = indexLoads({ link_loads: [load("leaf0:up1", 0.2), load("spine1:more", 0.7)], total_size: 2, next_page_token: "" });
  const matrix = heatMatrix(fabric, colour(fabric, loads, metricNamed("load")));
  expect(matrix.leaves.map((node) => fabric.nodes[node]?.name)).toEqual(["leaf0", "leaf1"]);
  const ports = [...matrix.links].map((link) => fabric.links[link]?.portA);
  expect(ports).toEqual(["leaf0:up0", "leaf0:more", undefined, "leaf1:up1"]);
});
