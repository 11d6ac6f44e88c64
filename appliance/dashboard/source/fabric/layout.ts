// SPDX-License-Identifier: BSD-3-Clause
// The layout of the map: one row for each tier, hosts at the bottom. In large fabrics, hosts with the
// same leaves are small cells in one box, and their links are one bundle for each leaf. Units are
// pixels at scale 1.
import { naturally, type Fabric, type FabricLink, type FabricNode } from "./model";

export interface Box {
  x: number; // centre
  y: number;
  width: number;
  height: number;
}

export interface HostGroup extends Box {
  hosts: number[];
  name: string;
}

// A drawn line: a link, or all links between a group of hosts and a leaf.
export interface Line {
  x1: number; // the end closer to the hosts
  y1: number;
  x2: number;
  y2: number;
  links: number[];
}

export interface Row {
  tier: string;
  y: number;
  nodes: number[]; // from left to right
}

export interface Layout {
  boxes: Box[]; // by node
  rows: Row[];
  groups: HostGroup[]; // empty: hosts are not grouped
  lines: Line[];
  lineOfLink: number[];
  width: number;
  height: number;
}

export interface LayoutOptions {
  aspect: number; // width / height of the viewport
  mostSingleHosts: number;
}

const kTiers = ["core", "spine", "pod", "leaf", "rack", "host"]; // a pod or a rack is a group of nodes
const kSwitchHeight = 22;
const kHostSize = 18;
const kMinCell = 11;
const kGap = 12;

function orderOfTier(tier: string): number {
  const known = kTiers.indexOf(tier);
  return known < 0 ? 0.5 : known; // unknown tiers are above the spines
}

function switchWidth(node: FabricNode): number {
  return Math.min(160, Math.max(34, node.links.length * 2.5));
}

// The leaves that a host is connected to, or undefined for a switch.
function leavesOf(fabric: Fabric, host: FabricNode): number[] {
  const leaves = new Set(host.links.map((at) => {
    const link = fabric.links[at] as FabricLink;
    return link.a === host.index ? link.b : link.a;
  }));
  return [...leaves].sort((a, b) => a - b);
}

function place(boxes: Box[], nodes: number[], widths: number[], y: number, height: number, total: number) {
  const taken = widths.reduce((sum, width) => sum + width, 0);
  const gap = (total - taken) / nodes.length;
  let x = gap / 2;
  nodes.forEach((node, i) => {
    const width = widths[i] as number;
    boxes[node] = { x: x + width / 2, y, width, height };
    x += width + gap;
  });
}

interface Pending {
  leaves: number[];
  hosts: number[];
}

function groupHosts(fabric: Fabric, hosts: number[]): Pending[] {
  const groups = new Map<string, Pending>();
  for (const host of hosts) {
    const leaves = leavesOf(fabric, fabric.nodes[host] as FabricNode);
    const key = leaves.join(",");
    const group = groups.get(key) ?? { leaves, hosts: [] };
    group.hosts.push(host);
    groups.set(key, group);
  }
  return [...groups.values()];
}

function columnsOf(hosts: number): number {
  return Math.max(1, Math.ceil(Math.sqrt(hosts * 2)));
}

function groupSize(hosts: number, cell: number): { width: number; height: number } {
  const columns = columnsOf(hosts);
  const rows = Math.ceil(hosts / columns);
  return { width: columns * cell + cell, height: rows * cell + cell };
}

function meanX(boxes: Box[], nodes: number[]): number {
  if (nodes.length === 0) return 0;
  return nodes.reduce((sum, node) => sum + (boxes[node]?.x ?? 0), 0) / nodes.length;
}

function placeGroup(boxes: Box[], group: HostGroup, cell: number) {
  const columns = columnsOf(group.hosts.length);
  const left = group.x - group.width / 2 + cell;
  const top = group.y - group.height / 2 + cell;
  group.hosts.forEach((host, i) => {
    const x = left + (i % columns) * cell;
    const y = top + Math.floor(i / columns) * cell;
    boxes[host] = { x, y, width: cell * 0.8, height: cell * 0.8 };
  });
}

function groupName(fabric: Fabric, hosts: number[]): string {
  const first = fabric.nodes[hosts[0] as number]?.name ?? "";
  const last = fabric.nodes[hosts.at(-1) as number]?.name ?? "";
  return hosts.length === 1 ? first : `${first} … ${last}`;
}

// Links leave a switch side by side in the order of their other ends. Few of them cross, and parallel
// links stay distinct.
function spreadEnds(fabric: Fabric, layout: Layout) {
  const ends = new Map<number, { line: Line; first: boolean; towards: number }[]>();
  const add = (node: number, line: Line, first: boolean) => {
    const list = ends.get(node) ?? [];
    list.push({ line, first, towards: first ? line.x2 : line.x1 });
    ends.set(node, list);
  };
  for (const line of layout.lines) {
    if (line.links.length === 0) continue;
    const link = fabric.links[line.links[0] as number] as FabricLink;
    if (fabric.nodes[link.a]?.tier !== "host" || layout.groups.length === 0) add(link.a, line, true);
    add(link.b, line, false);
  }
  for (const [node, list] of ends) {
    const box = layout.boxes[node] as Box;
    for (const up of [true, false]) {
      const side = list.filter((end) => {
        const [here, there] = end.first ? [end.line.y1, end.line.y2] : [end.line.y2, end.line.y1];
        return there < here === up;
      });
      side.sort((a, b) => a.towards - b.towards);
      side.forEach((end, i) => {
        const x = box.x + ((i + 0.5) / side.length - 0.5) * box.width * 0.9;
        const y = box.y + (up ? -box.height / 2 : box.height / 2);
        if (end.first) [end.line.x1, end.line.y1] = [x, y];
        else [end.line.x2, end.line.y2] = [x, y];
      });
    }
  }
}

function drawLines(fabric: Fabric, layout: Layout) {
  const groupOf = new Map<number, HostGroup>();
  for (const group of layout.groups) for (const host of group.hosts) groupOf.set(host, group);
  const bundles = new Map<string, Line>();
  for (const link of fabric.links) {
    const from = layout.boxes[link.a] as Box;
    const to = layout.boxes[link.b] as Box;
    const group = groupOf.get(link.a);
    const key = group && `${layout.groups.indexOf(group)},${link.b}`;
    let line = key === undefined ? undefined : bundles.get(key);
    if (!line) {
      const x1 = group ? group.x : from.x;
      const y1 = group ? group.y - group.height / 2 : from.y;
      line = { x1, y1, x2: to.x, y2: to.y, links: [] };
      layout.lines.push(line);
      if (key !== undefined) bundles.set(key, line);
    }
    line.links.push(link.index);
    layout.lineOfLink[link.index] = -1;
  }
  layout.lines.forEach((line, i) => line.links.forEach((link) => (layout.lineOfLink[link] = i)));
}

function growth(least: { width: number; height: number }[], width: number, height: number): number {
  if (least.length === 0) return 1;
  const taken = least.reduce((sum, size) => sum + size.width, 0);
  const tallest = Math.max(...least.map((size) => size.height));
  return Math.max(1, Math.min((width * 0.85) / taken, (height * 0.2) / tallest));
}

export function layOut(fabric: Fabric, options: LayoutOptions): Layout {
  const byTier = new Map<string, number[]>();
  for (const node of fabric.nodes) {
    byTier.set(node.tier, [...(byTier.get(node.tier) ?? []), node.index]);
  }
  const tiers = [...byTier.keys()].sort((a, b) => orderOfTier(a) - orderOfTier(b));
  const nodeOf = (index: number) => fabric.nodes[index] as FabricNode;
  for (const nodes of byTier.values()) {
    nodes.sort((a, b) => (nodeOf(a).pod ?? -1) - (nodeOf(b).pod ?? -1) || naturally(nodeOf(a).name, nodeOf(b).name));
  }

  const hosts = byTier.get("host") ?? [];
  const grouped = hosts.length > options.mostSingleHosts;
  const pending = grouped ? groupHosts(fabric, hosts) : [];
  const least = pending.map((group) => groupSize(group.hosts.length, kMinCell));
  const natural = tiers.map((tier) => {
    if (tier === "host" && grouped) return least.reduce((sum, size) => sum + size.width + kGap, 0);
    const nodes = byTier.get(tier) ?? [];
    if (tier === "host") return nodes.length * (kHostSize + 8);
    return nodes.reduce((sum, node) => sum + switchWidth(nodeOf(node)) + kGap, 0);
  });
  const width = Math.max(320, ...natural);
  // Cells and switches grow to use the width of the widest row.
  const cell = kMinCell * growth(least, width, width / options.aspect);
  const sizes = pending.map((group) => groupSize(group.hosts.length, cell));
  const hostHeight = grouped ? Math.max(...sizes.map((size) => size.height)) : kHostSize;
  const switchHeight = Math.max(kSwitchHeight, width / 60);
  const rowGap = Math.max(84, (width / options.aspect - hostHeight) / Math.max(1, tiers.length - 1));

  const boxes: Box[] = [];
  const layout: Layout = {
    boxes, rows: [], groups: [], lines: [], lineOfLink: [], width,
    height: rowGap * Math.max(0, tiers.length - 1) + hostHeight,
  };
  tiers.forEach((tier, row) => {
    const nodes = byTier.get(tier) ?? [];
    const y = row * rowGap + (tier === "host" ? hostHeight / 2 : switchHeight / 2);
    layout.rows.push({ tier, y, nodes });
    if (tier !== "host") {
      place(boxes, nodes, nodes.map((node) => switchWidth(nodeOf(node))), y, switchHeight, width);
    } else if (!grouped) {
      const mean = new Map(nodes.map((node) => [node, meanX(boxes, leavesOf(fabric, nodeOf(node)))]));
      nodes.sort((a, b) => (mean.get(a) ?? 0) - (mean.get(b) ?? 0));
      place(boxes, nodes, nodes.map(() => kHostSize), y, kHostSize, width);
    } else {
      const order = pending.map((group, i) => ({ group, i, x: meanX(boxes, group.leaves) }));
      order.sort((a, b) => a.x - b.x);
      const space = width - sizes.reduce((sum, size) => sum + size.width, 0);
      let x = space / order.length / 2;
      for (const { group, i } of order) {
        const size = sizes[i] as { width: number; height: number };
        const box: HostGroup = {
          ...size, hosts: group.hosts, name: groupName(fabric, group.hosts),
          x: x + size.width / 2, y: row * rowGap + size.height / 2,
        };
        layout.groups.push(box);
        placeGroup(boxes, box, cell);
        x += size.width + space / order.length;
      }
      layout.rows[row] = { tier, y, nodes: layout.groups.flatMap((group) => group.hosts) };
    }
  });
  drawLines(fabric, layout);
  spreadEnds(fabric, layout);
  return layout;
}
