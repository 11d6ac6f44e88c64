// SPDX-License-Identifier: BSD-3-Clause
// React-style hooks for the store.
import { createContext } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { pathAt } from "../past/minute";
import { useMinute } from "../past/minute_context";
import type { Entry, Store } from "./store";
import type { Histories } from "./histories";

export interface Shared {
  store: Store;
  histories: Histories;
}

export const SharedContext = createContext<Shared | undefined>(undefined);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error("useShared is called outside of SharedContext.Provider");
  return shared;
}

export interface Resource<T> extends Entry {
  path: string;
  value?: T;
}

const kNothing: Entry = { status: "waiting", receivedMs: 0 };

// An empty path makes no request. Where a past minute is selected, the response is that of the minute,
// if the call has past answers. Until it arrives, the response for the previous minute stays; the page
// shows that it waits.
export function useResource<T>(base: string): Resource<T> {
  const { store } = useShared();
  const minute = useMinute();
  const path = minute === undefined ? base : pathAt(base, minute);
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    return store.subscribe(path, () => redraw((count) => count + 1));
  }, [store, path]);
  const former = useRef<{ base: string; isPast: boolean; entry: Entry }>(undefined);
  const entry = path ? store.entry(path) : kNothing;
  const isPast = minute !== undefined;
  if (entry.status !== "waiting") {
    former.current = { base, isPast, entry };
    return { ...entry, path } as Resource<T>;
  }
  const last = former.current;
  // Past data is never shown as the present one, and the other way round.
  const isUsable = last?.base === base && last.isPast === isPast && last.entry.value !== undefined;
  return { ...(isUsable ? last.entry : entry), path } as Resource<T>;
}

// True until each resource has a value or an error. A view that waits for all of them at once does not
// move its parts when the later ones arrive.
export function areWaiting(...resources: Resource<unknown>[]): boolean {
  return resources.some(({ path, status }) => path !== "" && status === "waiting");
}

// Redraws when the connection changes or an event arrives.
export function useStoreState(): Store {
  const { store } = useShared();
  const [, redraw] = useState(0);
  useEffect(() => store.subscribeState(() => redraw((count) => count + 1)), [store]);
  return store;
}

// Redraws periodically, for times that are relative to now.
export function useClock(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
