// SPDX-License-Identifier: BSD-3-Clause
// The links between leaves and spines as a matrix: a cell is the worst link between the two.
import type { Colouring } from "./loads";
import { naturally, type Fabric } from "./model";

export interface HeatMatrix {
  leaves: number[]; // nodes; rows
  spines: number[]; // nodes; columns
  links: Int32Array; // by row and column; -1: no link
}

export function heatMatrix(fabric: Fabric, { values }: Colouring): HeatMatrix {
  const ofTier = (tier: string) => fabric.nodes.filter((node) => node.tier === tier)
    .sort((a, b) => naturally(a.name, b.name)).map((node) => node.index);
  const [leaves, spines] = [ofTier("leaf"), ofTier("spine")];
  const rows = new Map(leaves.map((node, i) => [node, i]));
  const columns = new Map(spines.map((node, i) => [node, i]));
  const links = new Int32Array(leaves.length * spines.length).fill(-1);
  for (const link of fabric.links) {
    const [row, column] = [rows.get(link.a), columns.get(link.b)];
    if (row === undefined || column === undefined) continue;
    const at = row * spines.length + column;
    const known = links[at] as number;
    if (known < 0 || (values[link.index] ?? -1) > (values[known] ?? -1)) links[at] = link.index;
  }
  return { leaves, spines, links };
}
