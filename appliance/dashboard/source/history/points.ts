// SPDX-License-Identifier: BSD-3-Clause
// The points of the history as aligned series for the charts.
import type { JobPoint, LinkPoint, Timestamp } from "../api/messages";
import { sortKey } from "../format/moments";
import { toNanoseconds } from "../format/quantities";

interface Point {
  start_time?: Timestamp;
}

export const timeOf = (point: Point) => sortKey(point.start_time) / 1e9;

const kGapSteps = 1.5;

// The times of all points in ascending order. Each gap contains one more time, which has no point, so
// that the charts interrupt their lines.
export function timeline(lists: Point[][], stepS: number): number[] {
  const known = [...new Set(lists.flatMap((points) => points.map(timeOf)))].sort((a, b) => a - b);
  return known.flatMap((time, i) => {
    const next = known[i + 1];
    return next !== undefined && next - time > kGapSteps * stepS ? [time, time + stepS] : [time];
  });
}

export function valuesAt<P extends Point>(times: number[], points: P[], value: (point: P) => number | undefined): (number | null)[] {
  const byTime = new Map(points.map((point) => [timeOf(point), point]));
  return times.map((time) => {
    const point = byTime.get(time);
    return (point && value(point)) ?? null;
  });
}

// Nanoseconds. Undefined if no iteration period was detected.
export function iterationOf(point: JobPoint): number | undefined {
  return point.mean_iteration_period === undefined ? undefined : toNanoseconds(point.mean_iteration_period);
}

export const jobBitRate = (stepS: number) => (point: JobPoint) => (Number(point.bytes) * 8) / stepS;

const kStateValues: Record<string, number> = { STATE_MET: 0, STATE_AT_RISK: 1, STATE_MISSED: 2 };
export const kStateTexts = ["in bounds", "at risk", "missed"];

// Undefined if there is no data.
export function stateValue(point: JobPoint): number | undefined {
  return kStateValues[point.service_level_state];
}

export const ceMarkRate = (stepS: number) => (point: LinkPoint) => Number(point.ce_marked_packets) / stepS;
export const lossRate = (stepS: number) => (point: LinkPoint) => (Number(point.dropped_packets) + Number(point.error_frames)) / stepS;
export const pausedShare = (stepS: number) => (point: LinkPoint) => toNanoseconds(point.paused_duration) / (stepS * 1e9);
