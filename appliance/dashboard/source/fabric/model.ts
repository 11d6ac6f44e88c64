// SPDX-License-Identifier: BSD-3-Clause
// An index of the topology: nodes by name, links by port, elements by place name.
import type { Topology, TopologyGpu, TopologyNic } from "../api/messages";
import { enumName } from "../format/words";

export interface FabricNode {
  index: number;
  name: string;
  tier: string; // "leaf"
  pod?: number;
  nics: TopologyNic[];
  gpus: TopologyGpu[];
  links: number[];
}

export interface FabricLink {
  index: number;
  a: number; // node, closer to the hosts
  b: number;
  portA: string;
  portB: string;
  bitsPerSecond: number;
}

// One direction of a link: the sending end.
export interface Direction {
  link: number;
  fromA: boolean;
}

export interface Fabric {
  name: string;
  nodes: FabricNode[];
  links: FabricLink[];
  nodeByName: Map<string, number>;
  byPort: Map<string, Direction>;
}

export function nodeOfPort(port: string): string {
  const colon = port.indexOf(":");
  return colon < 0 ? port : port.slice(0, colon);
}

export function portOf(port: string): string {
  return port.slice(port.indexOf(":") + 1);
}

export function buildFabric(topology: Topology): Fabric {
  const nodes = topology.nodes.map(
    (node, index): FabricNode => ({ ...node, tier: enumName(node.tier) || "unknown tier", index, links: [] }),
  );
  const nodeByName = new Map(nodes.map((node) => [node.name, node.index]));
  const links: FabricLink[] = [];
  const byPort = new Map<string, Direction>();
  for (const { a, b, bits_per_second } of topology.links) {
    const nodeA = nodeByName.get(nodeOfPort(a));
    const nodeB = nodeByName.get(nodeOfPort(b));
    if (nodeA === undefined || nodeB === undefined) continue;
    const index = links.length;
    const bitsPerSecond = Number(bits_per_second);
    links.push({ index, a: nodeA, b: nodeB, portA: a, portB: b, bitsPerSecond });
    nodes[nodeA]?.links.push(index);
    nodes[nodeB]?.links.push(index);
    byPort.set(a, { link: index, fromA: true });
    byPort.set(b, { link: index, fromA: false });
  }
  return { name: topology.name, nodes, links, nodeByName, byPort };
}

export type Element = { kind: "node"; node: number } | { kind: "link"; link: number };

// Maps the place of a finding or hotspot to a map element: a port or NIC to its link, a GPU to its host.
export function resolvePlace(fabric: Fabric, place: string): Element | undefined {
  const node = fabric.nodeByName.get(place);
  if (node !== undefined) return { kind: "node", node };
  const direction = fabric.byPort.get(place);
  if (direction) return { kind: "link", link: direction.link };
  // Names may contain hyphens.
  for (let at = place.indexOf("-"); at > 0; at = place.indexOf("-", at + 1)) {
    const known = fabric.byPort.get(place.slice(0, at));
    if (known && fabric.byPort.has(place.slice(at + 1))) return { kind: "link", link: known.link };
  }
  const host = fabric.nodeByName.get(nodeOfPort(place));
  return host === undefined ? undefined : { kind: "node", node: host };
}

// The port at the other end. Undefined if the topology has no such port.
export function otherEnd(fabric: Fabric, port: string): string | undefined {
  const direction = fabric.byPort.get(port);
  const link = direction && fabric.links[direction.link];
  return link && (direction.fromA ? link.portB : link.portA);
}

export function linkName(link: FabricLink): string {
  return `${link.portA}-${link.portB}`;
}

const kNatural = new Intl.Collator("en", { numeric: true });
export const naturally = (a: string, b: string) => kNatural.compare(a, b);
