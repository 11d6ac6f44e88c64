// SPDX-License-Identifier: BSD-3-Clause
// A smaller fabric for the map of a large one: each closed group (a pod; without pods, the hosts below
// the same leaves) is one node, and its links to a node outside are one line.
import type { Colouring } from "./loads";
import type { Mark } from "./draw";
import { naturally, type Element, type Fabric, type FabricLink, type FabricNode } from "./model";

export interface Group {
  name: string; // "pod 3"
  nodes: number[]; // of the whole fabric
}

export interface Aggregate {
  fabric: Fabric; // what the map shows
  groups: Group[]; // all groups
  groupOf: Map<number, Group>; // closed groups by shown node
  shownNode: Int32Array; // by node of the whole fabric
  shownLink: Int32Array; // by link of the whole fabric; -1: inside a closed group
  linksOf: number[][]; // links of the whole fabric, by shown link
  nodeOf: number[]; // node of the whole fabric, by shown node; -1: a group
}

export const kMaxUngroupedHosts = 512; // more hosts are shown in groups

export function hostCount(fabric: Fabric): number {
  return fabric.nodes.reduce((hosts, node) => hosts + (node.tier === "host" ? 1 : 0), 0);
}

// The other ends of a host's links: its leaves.
function leavesKey(fabric: Fabric, host: FabricNode): string {
  const leaves = host.links.map((at) => {
    const link = fabric.links[at] as FabricLink;
    return fabric.nodes[link.a === host.index ? link.b : link.a]?.name ?? "";
  });
  return [...new Set(leaves)].sort(naturally).join(", ");
}

function keyOf(fabric: Fabric, node: FabricNode, withPods: boolean): string | undefined {
  if (withPods) return node.pod === undefined ? undefined : `pod ${node.pod}`;
  return node.tier === "host" ? `hosts of ${leavesKey(fabric, node)}` : undefined;
}

// Empty if there is nothing to group.
export function groupsOf(fabric: Fabric): Group[] {
  const pods = new Set(fabric.nodes.map((node) => node.pod).filter((pod) => pod !== undefined));
  const groups = new Map<string, Group>();
  for (const node of fabric.nodes) {
    const name = keyOf(fabric, node, pods.size > 1);
    if (name === undefined) continue;
    const group = groups.get(name);
    if (group) group.nodes.push(node.index);
    else groups.set(name, { name, nodes: [node.index] });
  }
  return groups.size > 1 ? [...groups.values()].sort((a, b) => naturally(a.name, b.name)) : [];
}

// `isOpen` selects the groups that show their nodes.
export function aggregate(fabric: Fabric, groups: Group[], isOpen: (group: Group) => boolean): Aggregate {
  const shown: Aggregate = {
    fabric: { name: fabric.name, nodes: [], links: [], nodeByName: new Map(), byPort: new Map() }, groups, groupOf: new Map(),
    shownNode: new Int32Array(fabric.nodes.length).fill(-1), shownLink: new Int32Array(fabric.links.length).fill(-1), linksOf: [], nodeOf: [],
  };
  const add = (node: Omit<FabricNode, "index" | "links">, original: number): number => {
    const index = shown.fabric.nodes.length;
    shown.fabric.nodes.push({ ...node, index, links: [] });
    shown.fabric.nodeByName.set(node.name, index);
    shown.nodeOf.push(original);
    return index;
  };
  for (const group of groups) {
    if (isOpen(group)) continue;
    const pod = fabric.nodes[group.nodes[0] as number]?.pod;
    const tier = group.name.startsWith("pod ") ? "pod" : "rack";
    const index = add({ name: group.name, tier, pod, nics: [], gpus: [] }, -1);
    shown.groupOf.set(index, group);
    for (const node of group.nodes) shown.shownNode[node] = index;
  }
  for (const node of fabric.nodes) {
    if (shown.shownNode[node.index] === -1) shown.shownNode[node.index] = add(node, node.index);
  }
  addLinks(fabric, shown);
  return shown;
}

function addLinks(fabric: Fabric, shown: Aggregate) {
  const bundles = new Map<string, number>(); // links between a closed group and a node
  for (const link of fabric.links) {
    const [a, b] = [shown.shownNode[link.a] as number, shown.shownNode[link.b] as number];
    if (a === b) continue;
    const isBundle = shown.groupOf.has(a) || shown.groupOf.has(b);
    const key = `${a} ${b}`;
    let index = isBundle ? bundles.get(key) : undefined;
    if (index === undefined) {
      index = shown.fabric.links.length;
      shown.fabric.links.push({ ...link, index, a, b });
      shown.linksOf.push([]);
      shown.fabric.nodes[a]?.links.push(index);
      shown.fabric.nodes[b]?.links.push(index);
      if (isBundle) bundles.set(key, index);
    }
    shown.linksOf[index]?.push(link.index);
    shown.shownLink[link.index] = index;
  }
}

// A line has the colour of its worst link.
export function colourShown(shown: Aggregate, whole: Colouring): Colouring {
  const values = new Float64Array(shown.fabric.links.length).fill(-1);
  const bins = new Int8Array(values.length).fill(-1);
  shown.linksOf.forEach((links, at) => links.forEach((link) => {
    values[at] = Math.max(values[at] as number, whole.values[link] as number);
    bins[at] = Math.max(bins[at] as number, whole.bins[link] as number);
  }));
  return { ...whole, values, bins };
}

// An element of the whole fabric on the map. A link inside a closed group is its group.
export function shownElement(shown: Aggregate, fabric: Fabric, element: Element | undefined): Element | undefined {
  if (!element) return undefined;
  if (element.kind === "node") return { kind: "node", node: shown.shownNode[element.node] as number };
  const link = shown.shownLink[element.link] as number;
  return link >= 0 ? { kind: "link", link } : { kind: "node", node: shown.shownNode[fabric.links[element.link]?.a ?? 0] as number };
}

// The reverse: a bundle is the worst of its links, and a group is no element of the whole fabric.
export function wholeElement(shown: Aggregate, values: Float64Array, element: Element | undefined): Element | undefined {
  if (!element) return undefined;
  if (element.kind === "node") {
    const node = shown.nodeOf[element.node] ?? -1;
    return node < 0 ? undefined : { kind: "node", node };
  }
  const links = shown.linksOf[element.link] ?? [];
  if (links.length === 0) return undefined;
  return { kind: "link", link: links.reduce((a, b) => ((values[b] ?? -1) > (values[a] ?? -1) ? b : a)) };
}

// The first mark of an element on the map is the most important one.
export function shownMarks(shown: Aggregate, fabric: Fabric, marks: Mark[]): Mark[] {
  const taken = new Map<string, Mark>();
  for (const mark of marks) {
    const element = shownElement(shown, fabric, mark.element);
    const key = JSON.stringify(element);
    if (element && !taken.has(key)) taken.set(key, { ...mark, element });
  }
  return [...taken.values()];
}

export function nodesOf(fabric: Fabric, element: Element | undefined): number[] {
  if (element?.kind === "node") return [element.node];
  const link = element && fabric.links[element.link];
  return link ? [link.a, link.b] : [];
}

export function shownPath(shown: Aggregate, path: Map<number, number>): Map<number, number> {
  const links = new Map<number, number>();
  for (const [link, weight] of path) {
    const at = shown.shownLink[link] as number;
    if (at >= 0) links.set(at, Math.max(links.get(at) ?? 0, weight));
  }
  return links;
}
