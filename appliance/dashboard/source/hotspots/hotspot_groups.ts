// SPDX-License-Identifier: BSD-3-Clause
// Hotspots grouped by port, with filters. The cost of a hotspot is the time that it delays jobs.
import type { Hotspot, HotspotCause } from "../api/messages";
import { sortKey } from "../format/moments";
import { toNanoseconds } from "../format/quantities";

export interface HotspotGroup {
  port: string;
  hotspots: Hotspot[]; // the most expensive first
  costNs: number;
  costByJob: [string, number][]; // the greatest first
  causes: HotspotCause[]; // the most expensive first
  ceMarked: number;
  dropped: number;
  pausedNs: number;
  peakBytes?: number; // unset: not reported
  last?: string; // end of the latest one
}

export interface HotspotFilter {
  cause: string; // as enumName() spells it; empty: all
  port: string; // part of the name
}

// The jobs wait for the same queue at the same time, so their delays do not add up to elapsed time. The
// sum ranks the ports. With a job, only its delay counts.
export function costOf(hotspot: Hotspot, job = ""): number {
  const counted = job ? hotspot.lost_times.filter((lost) => lost.job_id === job) : hotspot.lost_times;
  return counted.reduce((sum, lost) => sum + toNanoseconds(lost.lost_duration), 0);
}

export function matches(hotspot: Hotspot, { cause, port }: HotspotFilter): boolean {
  if (cause && hotspot.cause !== `CAUSE_${cause.toUpperCase()}`) return false;
  return hotspot.port.toLowerCase().includes(port.trim().toLowerCase());
}

function addUp<Key>(pairs: [Key, number][]): [Key, number][] {
  const sums = new Map<Key, number>();
  for (const [key, value] of pairs) sums.set(key, (sums.get(key) ?? 0) + value);
  return [...sums].sort((a, b) => b[1] - a[1]);
}

function groupOf(port: string, hotspots: Hotspot[], job: string): HotspotGroup {
  const cost = (hotspot: Hotspot) => costOf(hotspot, job);
  const sum = (value: (hotspot: Hotspot) => number) => hotspots.reduce((total, hotspot) => total + value(hotspot), 0);
  const peaks = hotspots.flatMap((hotspot) => (hotspot.peak_queue_bytes === undefined ? [] : [Number(hotspot.peak_queue_bytes)]));
  return {
    port,
    hotspots: [...hotspots].sort((a, b) => cost(b) - cost(a) || sortKey(b.start_time) - sortKey(a.start_time)),
    costNs: sum(cost),
    costByJob: addUp(hotspots.flatMap((hotspot) => hotspot.lost_times.map((lost): [string, number] => [lost.job_id, toNanoseconds(lost.lost_duration)]))),
    causes: addUp(hotspots.map((hotspot): [HotspotCause, number] => [hotspot.cause, cost(hotspot)])).map(([cause]) => cause),
    ceMarked: sum((hotspot) => Number(hotspot.ce_marked_packets)),
    dropped: sum((hotspot) => Number(hotspot.dropped_packets)),
    pausedNs: sum((hotspot) => toNanoseconds(hotspot.paused_duration)),
    peakBytes: peaks.length > 0 ? Math.max(...peaks) : undefined,
    last: hotspots.reduce((last, { end_time }) => (sortKey(end_time) > sortKey(last) ? end_time : last), hotspots[0]?.end_time),
  };
}

// The ports that delay jobs most first. With a job: those that delay this job most.
export function groupByPort(hotspots: Hotspot[], job = ""): HotspotGroup[] {
  const byPort = new Map<string, Hotspot[]>();
  for (const hotspot of hotspots) {
    const list = byPort.get(hotspot.port);
    if (list) list.push(hotspot);
    else byPort.set(hotspot.port, [hotspot]);
  }
  const groups = [...byPort].map(([port, list]) => groupOf(port, list, job));
  return groups.sort((a, b) => b.costNs - a.costNs || b.ceMarked - a.ceMarked || b.pausedNs - a.pausedNs);
}
