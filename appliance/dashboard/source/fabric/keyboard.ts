// SPDX-License-Identifier: BSD-3-Clause
// Arrow key navigation on the map: to the neighbour in the row, or to the nearest node of the next
// row.
import type { Element } from "./model";
import type { Layout } from "./layout";

export type Step = "left" | "right" | "up" | "down";

export function step(layout: Layout, from: number | undefined, direction: Step): Element | undefined {
  const rows = layout.rows.filter((row) => row.nodes.length > 0);
  const row = rows.findIndex((candidate) => from !== undefined && candidate.nodes.includes(from));
  if (from === undefined || row < 0) {
    const first = rows[0]?.nodes[0];
    return first === undefined ? undefined : { kind: "node", node: first };
  }
  const nodes = rows[row]?.nodes ?? [];
  if (direction === "left" || direction === "right") {
    const at = nodes.indexOf(from) + (direction === "left" ? -1 : 1);
    return { kind: "node", node: nodes[Math.min(nodes.length - 1, Math.max(0, at))] as number };
  }
  const next = rows[row + (direction === "up" ? -1 : 1)]?.nodes;
  if (!next) return { kind: "node", node: from };
  const x = layout.boxes[from]?.x ?? 0;
  const away = (node: number) => Math.abs((layout.boxes[node]?.x ?? 0) - x);
  const node = next.reduce((a, b) => (away(b) < away(a) ? b : a));
  return { kind: "node", node };
}
