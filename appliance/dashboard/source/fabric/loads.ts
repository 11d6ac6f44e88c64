// SPDX-License-Identifier: BSD-3-Clause
// The load of both directions of each link, and the resulting colours.
import type { LinkLoad, ListLinkLoadsResponse } from "../api/messages";
import { nsBetween } from "../format/moments";
import { binOf, type Metric } from "./metrics";
import type { Fabric } from "./model";

export interface Loads {
  windowNs: number;
  byPort: Map<string, LinkLoad>;
}

export function indexLoads(answer: ListLinkLoadsResponse | undefined): Loads {
  return {
    windowNs: nsBetween(answer?.start_time, answer?.end_time),
    byPort: new Map(answer?.link_loads.map((load) => [load.port, load])),
  };
}

export interface Colouring {
  bounds: number[];
  bins: Int8Array; // by link, for its worse direction; -1: unknown
  values: Float64Array; // by link, for its worse direction
  most: number;
}

export function colour(fabric: Fabric, loads: Loads, metric: Metric): Colouring {
  const values = new Float64Array(fabric.links.length).fill(-1);
  let most = 0;
  for (const [port, load] of loads.byPort) {
    const direction = fabric.byPort.get(port);
    const value = direction && metric.value(load, loads.windowNs);
    if (value === undefined || !direction) continue;
    most = Math.max(most, value);
    values[direction.link] = Math.max(values[direction.link] ?? -1, value);
  }
  const bounds = metric.bounds(most);
  const bins = new Int8Array(values.length);
  values.forEach((value, link) => (bins[link] = value < 0 ? -1 : binOf(value, bounds)));
  return { bounds, bins, values, most };
}

export function bitsPerSecond(fabric: Fabric, load: LinkLoad): number | undefined {
  const direction = fabric.byPort.get(load.port);
  const speed = direction && fabric.links[direction.link]?.bitsPerSecond;
  return speed === undefined || load.utilization === undefined ? undefined : load.utilization * speed;
}

// Directions in descending order of their values, without those that have no value.
export function busiest(loads: Loads, metric: Metric, most: number): LinkLoad[] {
  const ranked: { load: LinkLoad; value: number }[] = [];
  for (const load of loads.byPort.values()) {
    const value = metric.value(load, loads.windowNs);
    if (value !== undefined && value > 0) ranked.push({ load, value });
  }
  ranked.sort((a, b) => b.value - a.value || (a.load.port < b.load.port ? -1 : 1));
  return ranked.slice(0, most).map(({ load }) => load);
}
