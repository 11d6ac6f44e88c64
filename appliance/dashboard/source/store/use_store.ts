// SPDX-License-Identifier: BSD-3-Clause
// The store as components see it.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Entry, Store } from "./store";
import type { Histories } from "./histories";

export interface Shared {
  store: Store;
  histories: Histories;
}

export const SharedContext = createContext<Shared | undefined>(undefined);

export function useShared(): Shared {
  const shared = useContext(SharedContext);
  if (!shared) throw new Error("a component that needs the store stands outside of it");
  return shared;
}

export interface Resource<T> extends Entry {
  path: string;
  value?: T;
}

const kNothing: Entry = { status: "waiting", receivedMs: 0 };

// An empty path asks for nothing.
export function useResource<T>(path: string): Resource<T> {
  const { store } = useShared();
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!path) return undefined;
    return store.subscribe(path, () => redraw((count) => count + 1));
  }, [store, path]);
  const entry = path ? store.entry(path) : kNothing;
  return { ...entry, path } as Resource<T>;
}

// Redraws when the connection changes or something happened.
export function useStoreState(): Store {
  const { store } = useShared();
  const [, redraw] = useState(0);
  useEffect(() => store.subscribeState(() => redraw((count) => count + 1)), [store]);
  return store;
}

// Redraws every so often: for what is said in relation to now.
export function useClock(everyMs: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
