// SPDX-License-Identifier: BSD-3-Clause
// Caches the last response of each request path and refreshes it while a view uses it. There is at
// most one request in flight per kind of path: a slow response delays the next request, and
// repeated requests are merged. A path of a list without page_size stands for the whole list.
import type { Answer, ApiError, ConnectionState, DataSource } from "../api/data_source";
import type { Event as ApplianceEvent } from "../api/messages";
import { getWhole, isOutdated } from "../api/whole_list";

export interface Entry {
  // "stale": the appliance stopped responding after `value` was received, or the list changed while
  // it was read.
  status: "waiting" | "ready" | "stale" | "refused" | "unreachable" | "not_stored";
  value?: unknown;
  error?: ApiError;
  message?: string;
  receivedMs: number;
}

type Listener = () => void;

interface Slot {
  entry: Entry;
  listeners: Set<Listener>;
}

export const kMinBetweenMs = 1000; // the appliance may publish several times per second
export const kMaxBetweenMs = 5000; // without events, because sources and health still change
const kKeptWithoutListener = 40;
const kEventsKept = 200;

// The configured topology does not change while the page is open. The path of a history request contains
// its time range. Everything else may change.
const kFixed = /^\/api\/v1\/(topology$|history\/(links|jobs)\?)/;
const kFinalRefusals = new Set(["NO_HISTORY", "UNKNOWN_JOB", "UNKNOWN_ELEMENT"]);

function isSettled(path: string, { status, error }: Entry): boolean {
  return kFixed.test(path) && (status === "ready" || (status === "refused" && kFinalRefusals.has(error?.reason ?? "")));
}

// The appliance reads these from disk. They change only by events, apart from the end of the range.
const kHistory = "/api/v1/history/";
export const kMinBetweenHistoryMs = 15_000;

export function kindOf(path: string): string {
  const base = path.split("?")[0] ?? path;
  return base.split("/").slice(0, 4).join("/");
}

export class Store {
  connection: ConnectionState = "connecting";
  events: ApplianceEvent[] = [];

  private readonly slots = new Map<string, Slot>();
  private readonly wanted = new Map<string, Set<string>>(); // by kind
  private readonly busy = new Set<string>(); // kinds with a request in flight
  private readonly stateListeners = new Set<Listener>();
  private readonly valueListeners = new Set<(path: string, value: unknown) => void>();
  private refreshedMs = 0;
  private changedMs = 0; // time of the last event other than KIND_SNAPSHOT
  private timer?: ReturnType<typeof setTimeout>;
  private stopWatching: Listener = () => {};

  constructor(
    readonly source: DataSource,
    private readonly now: () => number = () => Date.now(),
    private readonly hidden: () => boolean = () => document.hidden,
  ) {}

  start() {
    this.refreshedMs = this.now();
    this.stopWatching = this.source.watch({
      event: (event) => this.receive(event),
      connection: (state) => {
        if (state === this.connection) return;
        // The next responses contain what changed while the connection was down.
        if (state === "open" && this.connection === "lost") this.scheduleRefresh();
        this.connection = state;
        this.notifyState();
      },
    });
    if (this.source.live) this.scheduleRefresh(kMaxBetweenMs);
  }

  stop() {
    clearTimeout(this.timer);
    this.stopWatching();
  }

  entry(path: string): Entry {
    return this.slot(path).entry;
  }

  // The values whose path starts with `prefix`.
  loaded<T>(prefix: string): T[] {
    return [...this.slots]
      .filter(([path, { entry }]) => path.startsWith(prefix) && entry.value !== undefined)
      .map(([, { entry }]) => entry.value as T);
  }

  subscribe(path: string, listener: Listener): () => void {
    const slot = this.slot(path);
    slot.listeners.add(listener);
    const { status } = slot.entry;
    if (status !== "not_stored" && !isSettled(path, slot.entry) && !(status === "ready" && !this.source.live))
      this.want(path);
    return () => {
      slot.listeners.delete(listener);
      this.forgetOld();
    };
  }

  // Notifies of changes to the connection and the events.
  subscribeState(listener: Listener): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  // Notifies of each new response, for time series.
  onValue(listener: (path: string, value: unknown) => void): () => void {
    this.valueListeners.add(listener);
    return () => this.valueListeners.delete(listener);
  }

  // Requests everything again that a view uses.
  refresh() {
    this.refreshedMs = this.now();
    if (!this.hidden()) {
      for (const [path, slot] of this.slots) {
        if (slot.listeners.size > 0 && !isSettled(path, slot.entry) && !this.isRecentHistory(path, slot)) this.want(path);
      }
    }
    this.scheduleRefresh(kMaxBetweenMs);
  }

  private isRecentHistory(path: string, { entry }: Slot): boolean {
    if (!path.startsWith(kHistory) || entry.status !== "ready" || entry.receivedMs < this.changedMs) return false;
    const elapsedMs = this.now() - entry.receivedMs;
    return elapsedMs >= 0 && elapsedMs < kMinBetweenHistoryMs;
  }

  private receive(event: ApplianceEvent) {
    if (event.kind !== "KIND_SNAPSHOT") {
      this.changedMs = this.now();
      this.events = [event, ...this.events].slice(0, kEventsKept);
      this.notifyState();
    }
    this.scheduleRefresh();
  }

  private scheduleRefresh(afterMs = kMinBetweenMs) {
    clearTimeout(this.timer);
    const due = this.refreshedMs + afterMs - this.now();
    // Bounded even if the clock was set back.
    this.timer = setTimeout(() => this.refresh(), Math.min(Math.max(0, due), afterMs));
  }

  private slot(path: string): Slot {
    let slot = this.slots.get(path);
    if (!slot) {
      slot = { entry: { status: "waiting", receivedMs: 0 }, listeners: new Set() };
      this.slots.set(path, slot);
    }
    return slot;
  }

  private want(path: string) {
    const kind = kindOf(path);
    const queue = this.wanted.get(kind) ?? new Set<string>();
    queue.add(path);
    this.wanted.set(kind, queue);
    if (!this.busy.has(kind)) void this.work(kind, queue);
  }

  private async work(kind: string, queue: Set<string>) {
    this.busy.add(kind);
    for (const path of queue) {
      queue.delete(path);
      if (this.slot(path).listeners.size === 0) continue; // no view uses it any more
      this.settle(path, await getWhole(this.source, path));
    }
    this.busy.delete(kind);
  }

  private settle(path: string, answer: Answer) {
    const slot = this.slot(path);
    const receivedMs = this.now();
    if (answer.kind === "answer") {
      slot.entry = { status: "ready", value: answer.value, receivedMs };
      this.valueListeners.forEach((listener) => listener(path, answer.value));
    } else if (slot.entry.value !== undefined && (answer.kind === "unreachable" || isOutdated(answer))) {
      slot.entry = { ...slot.entry, status: "stale" };
    } else if (answer.kind === "refused") {
      slot.entry = { status: "refused", error: answer.error, receivedMs };
    } else {
      slot.entry = { status: answer.kind, message: answer.message, receivedMs };
    }
    slot.listeners.forEach((listener) => listener());
  }

  private forgetOld() {
    const unused = [...this.slots].filter(([, slot]) => slot.listeners.size === 0);
    for (const [path] of unused.slice(0, -kKeptWithoutListener)) this.slots.delete(path);
  }

  private notifyState() {
    this.stateListeners.forEach((listener) => listener());
  }
}
