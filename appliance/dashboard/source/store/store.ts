// SPDX-License-Identifier: BSD-3-Clause
// Caches the last response of each request path and refreshes it while a view uses it. There is at
// most one request in flight per kind of path: a slow response delays the next request, and
// repeated requests are merged. A path of a list without page_size stands for the whole list.
import type { Answer, ApiError, ConnectionState, DataSource } from "../api/data_source";
import type { Event as ApplianceEvent, Health, SnapshotMetadata } from "../api/messages";
import { getWhole, isOutdated } from "../api/whole_list";
import { toNs } from "../format/moments";
import { endOfPath, isPastPath, withoutAtTime } from "../past/minute";

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

// The configured topology does not change while the page is open.
const kFixed = "/api/v1/topology";
const kFinalRefusals = new Set(["NO_HISTORY", "NO_DATA_AT_TIME", "UNKNOWN_JOB", "UNKNOWN_ELEMENT"]);
// The history stores a minute somewhat after its end.
export const kStoredAfterMs = 120_000;

// The appliance reads these from disk. They change only by events, apart from the end of the range.
const kHistory = "/api/v1/history/";
const kHealth = "/api/v1/health";
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
  private readonly busy = new Map<string, string>(); // the path that is in flight, by kind
  private readonly stateListeners = new Set<Listener>();
  private readonly valueListeners = new Set<(path: string, value: unknown) => void>();
  private reached?: { dataMs: number; receivedMs: number }; // data time of the last health, and when it was received
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
    const found = [...this.slots].filter(([path, { entry }]) => path.startsWith(prefix) && entry.value !== undefined);
    // The past answers of a call are several values of the same thing.
    return [...new Map(found.map(([path, { entry }]) => [withoutAtTime(path), entry.value as T])).values()];
  }

  // The past answers that the views use.
  pastAnswers(): { isLoading: boolean; dataTimesNs: bigint[] } {
    const used = [...this.slots].filter(([path, { listeners }]) => isPastPath(path) && listeners.size > 0);
    const times = used.flatMap(([, { entry }]) => {
      // Link loads are those of a whole minute, whose end is the time of the data.
      const value = entry.value as { start_time?: string; snapshot?: SnapshotMetadata } | undefined;
      return toNs(value?.start_time ?? value?.snapshot?.data_time) ?? [];
    });
    return { isLoading: used.some(([, { entry }]) => entry.status === "waiting"), dataTimesNs: times };
  }

  subscribe(path: string, listener: Listener): () => void {
    const slot = this.slot(path);
    this.slots.delete(path); // in the order of use, for forgetOld
    this.slots.set(path, slot);
    slot.listeners.add(listener);
    const { status } = slot.entry;
    if (status !== "not_stored" && !this.isSettled(path, slot.entry) && !(status === "ready" && !this.source.live)) {
      this.want(path);
    }
    if (isPastPath(path)) this.notifyState();
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
        if (slot.listeners.size > 0 && !this.isSettled(path, slot.entry) && !this.isRecentHistory(path, slot)) this.want(path);
      }
    }
    this.scheduleRefresh(kMaxBetweenMs);
  }

  // True if the response cannot change any more.
  private isSettled(path: string, entry: Entry): boolean {
    const { status, error } = entry;
    const isFinal = status === "ready" || (status === "refused" && kFinalRefusals.has(error?.reason ?? ""));
    const isStored = isPastPath(path) || path.startsWith(kHistory);
    return isFinal && (path === kFixed || this.isOfThePast(path, entry) || (isStored && error?.reason === "NO_HISTORY"));
  }

  // True if the telemetry had reached the time in the path, and the history had stored it, when the
  // response was received.
  private isOfThePast(path: string, { receivedMs }: Entry): boolean {
    const endMs = endOfPath(path);
    if (endMs === undefined || !this.reached) return false;
    const dataMs = this.reached.dataMs - Math.max(0, this.reached.receivedMs - receivedMs);
    return dataMs >= endMs + kStoredAfterMs;
  }

  // True if the same request would probably get the same response again.
  private isAnswered(path: string, { status, error }: Entry): boolean {
    return status === "ready" || (status === "refused" && (isPastPath(path) || kFinalRefusals.has(error?.reason ?? "")));
  }

  private isRecentHistory(path: string, { entry }: Slot): boolean {
    const isPast = isPastPath(path);
    if (!(isPast || path.startsWith(kHistory)) || !this.isAnswered(path, entry)) return false;
    if (!isPast && entry.receivedMs < this.changedMs) return false;
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
    if (isPastPath(path) && this.busy.get(kind) === path) return; // the response will be the same
    const queue = this.wanted.get(kind) ?? new Set<string>();
    queue.add(path);
    this.wanted.set(kind, queue);
    if (!this.busy.has(kind)) void this.work(kind, queue);
  }

  private async work(kind: string, queue: Set<string>) {
    this.busy.set(kind, "");
    for (const path of queue) {
      queue.delete(path);
      this.busy.set(kind, path);
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
      if (path === kHealth) this.noteReached(answer.value as Health, receivedMs);
      this.valueListeners.forEach((listener) => listener(path, answer.value));
    } else if (slot.entry.value !== undefined && (answer.kind === "unreachable" || isOutdated(answer))) {
      slot.entry = { ...slot.entry, status: "stale" };
    } else if (answer.kind === "refused") {
      slot.entry = { status: "refused", error: answer.error, receivedMs };
    } else {
      slot.entry = { status: answer.kind, message: answer.message, receivedMs };
    }
    slot.listeners.forEach((listener) => listener());
    if (isPastPath(path)) this.notifyState();
  }

  private noteReached(health: Health, receivedMs: number) {
    const dataNs = toNs(health.snapshot?.data_time);
    if (dataNs !== undefined) this.reached = { dataMs: Number(dataNs / 1_000_000n), receivedMs };
  }

  private forgetOld() {
    const unused = [...this.slots].filter(([, slot]) => slot.listeners.size === 0);
    for (const [path] of unused.slice(0, -kKeptWithoutListener)) this.slots.delete(path);
  }

  private notifyState() {
    this.stateListeners.forEach((listener) => listener());
  }
}
