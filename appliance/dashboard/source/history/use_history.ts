// SPDX-License-Identifier: BSD-3-Clause
// The history of a job or of a port in the time range of the URL.
import { useRef } from "preact/hooks";
import { useNow, useReference } from "../parts/reference";
import { rangeAt, type Range } from "../range/range";
import { useResource, type Resource } from "../store/use_store";
import { historyPath, secondsOf, windowOf, type TimeWindow } from "./window";

// `nowNs` is the present, also if a past minute is selected.
export function useWindow(query: Record<string, string>): { window: TimeWindow; range: Range; nowNs: bigint } {
  const reference = useReference();
  const nowNs = useNow();
  const range = rangeAt(query, { nowNs, ...reference }) as Range;
  return { window: windowOf(query, secondsOf(reference.isPast ? range.endNs : nowNs)), range, nowNs };
}

interface Kept<T> {
  name: string;
  resource: Resource<T>;
}

// The history has no values of a job or a port that appeared a moment ago. It then does not know the name.
const kUnknown = new Set(["UNKNOWN_JOB", "UNKNOWN_ELEMENT"]);

export function withoutValues<T>(resource: Resource<T>): Resource<T> {
  if (resource.status !== "refused" || !kUnknown.has(resource.error?.reason ?? "")) return resource;
  return { ...resource, status: "ready", value: { step: "60s", points: [] } as T };
}

// While the response for a new range is on its way, the previous one stays, so that the charts do not
// disappear.
export function useHistory<T>(kind: "jobs" | "links", name: string, window: TimeWindow, maxPoints?: number): Resource<T> {
  const resource = useResource<T>(name && historyPath(kind, name, window, maxPoints));
  const kept = useRef<Kept<T> | undefined>(undefined);
  const isNew = kept.current?.name !== name || kept.current.resource.receivedMs !== resource.receivedMs || kept.current.resource.path !== resource.path;
  if (resource.status !== "waiting" && isNew) kept.current = { name, resource: withoutValues(resource) };
  return kept.current?.name === name ? kept.current.resource : resource;
}
