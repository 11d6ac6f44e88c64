// SPDX-License-Identifier: BSD-3-Clause
// The marks on the map: places of active faults, and recent hotspots.
import type { Finding, Hotspot } from "../api/messages";
import { duration } from "../format/quantities";
import { words } from "../format/words";
import type { Mark } from "./draw";
import { resolvePlace, type Fabric } from "./model";

const kMaxHotspots = 12; // where many queues fill up, those that cost most
const kMaxFaults = 100;

export function isLasting(finding: Finding): boolean {
  return finding.until_ns === "0";
}

function mostLost(hotspot: Hotspot): number {
  return Math.max(0, ...hotspot.lost.map((job) => Number(job.lost_ns)));
}

// Hotspots that ended before `sinceNs` are ignored; 0: none is ignored.
export function collectMarks(
  fabric: Fabric, findings: Finding[], hotspots: Hotspot[], sinceNs: bigint, live: boolean,
): Mark[] {
  const marks: Mark[] = [];
  const taken = new Set<string>();
  const add = (place: string, label: string, fault: boolean) => {
    const element = resolvePlace(fabric, place);
    if (!element) return;
    const key = JSON.stringify(element);
    if (taken.has(key)) return; // a fault explains a hotspot at the same place
    taken.add(key);
    marks.push({ element, label, fault });
  };
  const faults = live ? findings.filter(isLasting) : findings;
  for (const finding of faults.slice(0, kMaxFaults)) {
    add(finding.direction || finding.place, words(finding.kind), true);
  }
  const recent = hotspots.filter((hotspot) => BigInt(hotspot.until_ns) >= sinceNs);
  recent.sort((a, b) => mostLost(b) - mostLost(a));
  for (const hotspot of recent.slice(0, kMaxHotspots)) {
    const lost = mostLost(hotspot);
    const cost = lost > 0 ? `, delays jobs by ${duration(lost)}` : "";
    const cause = hotspot.cause === "unknown" ? "congested queue" : words(hotspot.cause);
    add(hotspot.port, `${cause}${cost}`, false);
  }
  return marks;
}
