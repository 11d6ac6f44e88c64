// SPDX-License-Identifier: BSD-3-Clause
// The history of a job or of a port in the time range of the URL.
import { useRef } from "preact/hooks";
import { useReference } from "../parts/reference";
import { useResource, type Resource } from "../store/use_store";
import { historyPath, windowOf, type TimeWindow } from "./window";

// The event time in seconds.
export function useNowS(): number {
  const { nowNs } = useReference();
  return nowNs === undefined ? Date.now() / 1000 : Number(nowNs / 1_000_000n) / 1000;
}

export function useWindow(query: Record<string, string>): { window: TimeWindow; nowS: number } {
  const nowS = useNowS();
  return { window: windowOf(query, nowS), nowS };
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
