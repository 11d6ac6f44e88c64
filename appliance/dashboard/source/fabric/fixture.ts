// SPDX-License-Identifier: BSD-3-Clause
// Test fabrics: hosts with one NIC per leaf, and a full mesh between leaves and spines.
import type { LinkLoad, Topology, TopologyNodeTier } from "../api/messages";

interface Shape {
  hosts: number;
  hostsPerLeaf: number;
  spines: number;
  nics?: number;
}

export function leafSpine({ hosts, hostsPerLeaf, spines, nics = 1 }: Shape): Topology {
  const topology: Topology = { name: "test", nodes: [], links: [] };
  const bits_per_second = "100000000000";
  const leaves = Math.ceil(hosts / hostsPerLeaf);
  const add = (name: string, tier: TopologyNodeTier) =>
    topology.nodes.push({ name, tier, nics: [], gpus: [] });
  for (let i = 0; i < spines; ++i) add(`spine${i}`, "TIER_SPINE");
  for (let i = 0; i < leaves; ++i) add(`leaf${i}`, "TIER_LEAF");
  for (let i = 0; i < hosts; ++i) {
    add(`host${i}`, "TIER_HOST");
    const host = topology.nodes.at(-1);
    for (let n = 0; n < nics; ++n) {
      host?.nics.push({ device: `mlx5_${n}`, rail: n, addresses: [`10.${n}.0.${i}`] });
      host?.gpus.push({ index: n, rail: n, nic: `mlx5_${n}` });
      const b = `leaf${Math.floor(i / hostsPerLeaf)}:Ethernet${i * nics + n}`;
      topology.links.push({ a: `host${i}:mlx5_${n}`, b, bits_per_second });
    }
  }
  for (let l = 0; l < leaves; ++l) {
    for (let s = 0; s < spines; ++s) {
      topology.links.push({ a: `leaf${l}:up${s}`, b: `spine${s}:down${l}`, bits_per_second });
    }
  }
  return topology;
}

export function load(port: string, utilization: number | undefined, changes: Partial<LinkLoad> = {}): LinkLoad {
  return {
    port, utilization, source: "SOURCE_COUNTERS", bytes: "0", ce_marked_packets: "0", dropped_packets: "0",
    error_frames: "0", ...changes,
  };
}
