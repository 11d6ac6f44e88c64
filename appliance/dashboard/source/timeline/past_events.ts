// SPDX-License-Identifier: BSD-3-Clause
// The events of a time range: from the appliance's history, or, without one, from the current findings
// and the events since the page was opened.
import { useRef } from "preact/hooks";
import type { Event as ApplianceEvent, Finding, ListPastEventsResponse } from "../api/messages";
import { toNs } from "../format/moments";
import { useResource, useStoreState, type Resource } from "../store/use_store";
import { timestampOf, type Range } from "../range/range";
import { eventsOfFindings } from "./spans";

export const kMostEvents = 1000; // limit of the API for one page

export interface EventsInRange {
  events: ApplianceEvent[]; // the most recent first
  // "none": the appliance keeps no history, or the page is a file.
  history: "loading" | "complete" | "truncated" | "none" | "failed";
  problem: string; // only for "failed"
}

// The start of a live range moves, so it is rounded down: the path changes about 60 times per range.
export function historyPath({ startNs, endNs, isLive }: Range): string {
  const step = (endNs - startNs) / 60n;
  const start = isLive && step > 0n ? startNs - (startNs % step) : startNs;
  const query = new URLSearchParams({ start_time: timestampOf(start), page_size: String(kMostEvents) });
  if (!isLive) query.set("end_time", timestampOf(endNs));
  return `/api/v1/history/events?${query}`;
}

export function eventsWithin(events: ApplianceEvent[], { startNs, endNs, isLive }: Range): ApplianceEvent[] {
  const time = (event: ApplianceEvent) => toNs(event.event_time) ?? 0n;
  return events
    .filter((event) => time(event) >= startNs && (isLive || time(event) < endNs))
    .sort((a, b) => (time(a) < time(b) ? 1 : time(a) > time(b) ? -1 : 0));
}

export function useEvents(range: Range | undefined, findings: Finding[]): EventsInRange {
  const store = useStoreState();
  const latest = useResource<ListPastEventsResponse>(range && store.source.live ? historyPath(range) : "");
  // While the range moves on, the last response stays visible.
  const settled = useRef<Resource<ListPastEventsResponse>>(undefined);
  if (latest.status !== "waiting") settled.current = latest;
  const answer = settled.current ?? latest;
  if (!range) return { events: [], history: "loading", problem: "" };
  if (answer.value) {
    const history = answer.value.next_page_token ? "truncated" : "complete";
    return { events: eventsWithin(answer.value.events, range), history, problem: "" };
  }
  const isLoading = store.source.live && answer.status === "waiting";
  const hasNone = !store.source.live || answer.error?.reason === "NO_HISTORY";
  const others = store.events.filter((event) => !event.kind.startsWith("KIND_FAULT_"));
  return {
    events: isLoading ? [] : eventsWithin([...eventsOfFindings(findings), ...others], range),
    history: isLoading ? "loading" : hasNone ? "none" : "failed",
    problem: answer.error?.message ?? answer.message ?? "",
  };
}
