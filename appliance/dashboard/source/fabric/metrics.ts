// SPDX-License-Identifier: BSD-3-Clause
// The metrics for colouring links. Each metric defines the value of a link direction and the lower
// bounds of the colours.
import type { LinkLoad } from "../api/messages";
import { bytes, count, percent, toNanoseconds } from "../format/quantities";

export type MetricName = "load" | "marks" | "pause" | "queue";

export interface Metric {
  name: MetricName;
  title: string;
  // Undefined: unknown, which differs from 0.
  value(load: LinkLoad, windowNs: number): number | undefined;
  // Lower bounds of the colours after the first one. The first colour is for 0 and small values.
  bounds(most: number): number[];
  text(value: number): string;
}

const fixed = (bounds: number[]) => () => bounds;
const relative = (most: number) => [0.02, 0.1, 0.25, 0.5, 0.8].map((share) => share * most);

export const kMetrics: Metric[] = [
  {
    name: "load",
    title: "Load",
    value: (load) => load.utilization,
    bounds: fixed([0.1, 0.25, 0.5, 0.75, 0.9]),
    text: (value) => percent(value),
  },
  {
    name: "marks",
    title: "CE marks",
    value: (load) => Number(load.ce_marked_packets),
    bounds: relative,
    text: (value) => count(value),
  },
  {
    name: "pause",
    title: "Pause time",
    value: (load, windowNs) => (windowNs > 0 ? toNanoseconds(load.paused_duration) / windowNs : undefined),
    bounds: fixed([0.001, 0.01, 0.05, 0.2, 0.5]),
    text: (value) => percent(value),
  },
  {
    name: "queue",
    title: "Queue",
    value: (load) => load.peak_queue_bytes === undefined ? undefined : Number(load.peak_queue_bytes),
    bounds: relative,
    text: (value) => bytes(value),
  },
];

export function metricNamed(name: string | undefined): Metric {
  return kMetrics.find((metric) => metric.name === name) ?? (kMetrics[0] as Metric);
}

// The index of the colour, from 0.
export function binOf(value: number, bounds: number[]): number {
  let bin = 0;
  while (bin < bounds.length && value > 0 && value >= (bounds[bin] as number)) ++bin;
  return bin;
}
