// SPDX-License-Identifier: BSD-3-Clause
// The links of the current paths of flows, with their share of the traffic or their probability.
import type { FlowPath } from "../api/messages";
import type { Fabric } from "./model";

export function linksOfPaths(fabric: Fabric, paths: FlowPath[]): Map<number, number> {
  const links = new Map<number, number>();
  const add = (port: string, weight: number) => {
    const direction = fabric.byPort.get(port);
    if (!direction) return;
    links.set(direction.link, Math.max(links.get(direction.link) ?? 0, weight));
  };
  for (const path of paths) {
    const last = path.intervals.at(-1);
    if (!last) continue;
    last.ports.forEach((port) => add(port, last.probability > 0 ? last.probability : 1));
    last.certain_ports.forEach((port) => add(port, 1));
    last.shares.forEach(({ port, share }) => add(port, share));
  }
  return links;
}

// The possible path ends of a host: its GPUs and NICs.
export function endsOfHost(fabric: Fabric, node: number): string[] {
  const host = fabric.nodes[node];
  if (!host) return [];
  return [
    ...host.gpus.map((gpu) => `${host.name}:gpu:${gpu.index}`),
    ...host.nics.map((nic) => `${host.name}:${nic.device}`),
  ];
}
