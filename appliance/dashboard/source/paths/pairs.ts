// SPDX-License-Identifier: BSD-3-Clause
// The flows of a job, grouped by sending and receiving NIC.
import type { FlowPath } from "../api/messages";

export interface Pair {
  source: string; // NIC; an IP address if the topology does not contain it
  destination: string;
  flows: number;
  bytes: number;
  unsureFlows: number; // the path is ambiguous, stray or unknown
  changes: number; // of paths
}

const kSure = new Set(["STATE_EXACT", "STATE_LIKELY", "STATE_SPREAD"]);

// The busiest first.
export function pairsOf(paths: FlowPath[]): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const path of paths) {
    const [source, destination] = [path.source_nic || path.source, path.destination_nic || path.destination];
    const key = `${source} ${destination}`;
    const pair = pairs.get(key) ?? { source, destination, flows: 0, bytes: 0, unsureFlows: 0, changes: 0 };
    pair.flows += 1;
    pair.bytes += path.intervals.reduce((sum, interval) => sum + Number(interval.bytes), 0);
    pair.unsureFlows += kSure.has(path.intervals.at(-1)?.state ?? "") ? 0 : 1;
    pair.changes += Math.max(0, path.intervals.length - 1);
    pairs.set(key, pair);
  }
  return [...pairs.values()].sort((a, b) => b.bytes - a.bytes);
}
