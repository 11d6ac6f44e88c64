// SPDX-License-Identifier: BSD-3-Clause
// Finds the map element at a point.
import type { Element } from "./model";
import type { Layout } from "./layout";

// The squared distance of a point to a line segment.
export function distanceSquared(
  x: number, y: number, x1: number, y1: number, x2: number, y2: number,
): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : ((x - x1) * dx + (y - y1) * dy) / length;
  const at = Math.min(1, Math.max(0, along));
  const [ex, ey] = [x - (x1 + at * dx), y - (y1 + at * dy)];
  return ex * ex + ey * ey;
}

// `reach` is in map units. `preferred` selects the link within a bundle.
export function elementAt(
  layout: Layout, x: number, y: number, reach: number, preferred: (links: number[]) => number,
): Element | undefined {
  for (let node = 0; node < layout.boxes.length; ++node) {
    const box = layout.boxes[node];
    if (!box) continue;
    const slack = Math.min(reach / 2, 2);
    if (Math.abs(x - box.x) <= box.width / 2 + slack && Math.abs(y - box.y) <= box.height / 2 + slack)
      return { kind: "node", node };
  }
  let best = reach * reach;
  let found = -1;
  layout.lines.forEach((line, i) => {
    const distance = distanceSquared(x, y, line.x1, line.y1, line.x2, line.y2);
    if (distance <= best) [best, found] = [distance, i];
  });
  const line = layout.lines[found];
  return line && { kind: "link", link: preferred(line.links) };
}
