// SPDX-License-Identifier: BSD-3-Clause
// The marks on the map: places of active faults, and recent hotspots.
import type { Finding, Hotspot } from "../api/messages";
import { isOngoing } from "../findings/finding_state";
import { toNs } from "../format/moments";
import { duration, toNanoseconds } from "../format/quantities";
import { enumWords, words } from "../format/words";
import type { Mark } from "./draw";
import { resolvePlace, type Fabric } from "./model";

const kMaxHotspots = 12; // if many queues are congested, those that delay jobs most
const kMaxFaults = 100;

function mostLost(hotspot: Hotspot): number {
  return Math.max(0, ...hotspot.lost_times.map((job) => toNanoseconds(job.lost_duration)));
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
  const faults = live ? findings.filter(isOngoing) : findings;
  for (const finding of faults.slice(0, kMaxFaults)) {
    add(finding.direction || finding.place, words(finding.kind), true);
  }
  const recent = hotspots.filter((hotspot) => (toNs(hotspot.end_time) ?? sinceNs) >= sinceNs);
  recent.sort((a, b) => mostLost(b) - mostLost(a));
  for (const hotspot of recent.slice(0, kMaxHotspots)) {
    const lost = mostLost(hotspot);
    const cost = lost > 0 ? `, delays jobs by ${duration(lost)}` : "";
    const known = hotspot.cause !== "CAUSE_UNKNOWN" && enumWords(hotspot.cause);
    const cause = known || "congested queue";
    add(hotspot.port, `${cause}${cost}`, false);
  }
  return marks;
}
