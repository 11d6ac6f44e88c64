// SPDX-License-Identifier: BSD-3-Clause
// What is known of each request path, kept fresh for the views that look at it. A box under load is
// asked for one thing of a kind at a time: a slow answer delays the next question, and questions
// that came up meanwhile are asked once.
import type { Answer, ConnectionState, DataSource } from "../api/data_source";
import type { ApiError, BoxEvent } from "../api/messages";

export interface Entry {
  // "stale": `value` is of before the box stopped to answer.
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

export const kMinBetweenMs = 1000; // answers may come many times a second
export const kMaxBetweenMs = 5000; // when no answer comes: sources and health go on
const kKeptWithoutListener = 40;
const kEventsKept = 200;

// The fabric as declared does not change while the page is open; all else may.
const kFixed = new Set(["/api/v1/topology"]);

export function kindOf(path: string): string {
  const base = path.split("?")[0] ?? path;
  return base.split("/").slice(0, 4).join("/");
}

export class Store {
  connection: ConnectionState = "connecting";
  events: BoxEvent[] = [];

  private readonly slots = new Map<string, Slot>();
  private readonly wanted = new Map<string, Set<string>>(); // by kind
  private readonly busy = new Set<string>(); // kinds under way
  private readonly stateListeners = new Set<Listener>();
  private readonly valueListeners = new Set<(path: string, value: unknown) => void>();
  private refreshedMs = 0;
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
      event: (event) => this.hear(event),
      connection: (state) => {
        if (state === this.connection) return;
        // What happened while nobody listened is in the next answers.
        if (state === "open" && this.connection === "lost") this.scheduleRefresh();
        this.connection = state;
        this.tellState();
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

  subscribe(path: string, listener: Listener): () => void {
    const slot = this.slot(path);
    slot.listeners.add(listener);
    const { status } = slot.entry;
    if (status !== "not_stored" && !(status === "ready" && (kFixed.has(path) || !this.source.live)))
      this.want(path);
    return () => {
      slot.listeners.delete(listener);
      this.forgetOld();
    };
  }

  // Of connection and events.
  subscribeState(listener: Listener): () => void {
    this.stateListeners.add(listener);
    return () => this.stateListeners.delete(listener);
  }

  // Of each new answer, for what is collected over time.
  onValue(listener: (path: string, value: unknown) => void): () => void {
    this.valueListeners.add(listener);
    return () => this.valueListeners.delete(listener);
  }

  // Asks again for all that somebody looks at.
  refresh() {
    this.refreshedMs = this.now();
    if (!this.hidden()) {
      for (const [path, slot] of this.slots) {
        const settled = kFixed.has(path) && slot.entry.status === "ready";
        if (slot.listeners.size > 0 && !settled) this.want(path);
      }
    }
    this.scheduleRefresh(kMaxBetweenMs);
  }

  private hear(event: BoxEvent) {
    if (event.kind !== "answer") {
      this.events = [event, ...this.events].slice(0, kEventsKept);
      this.tellState();
    }
    this.scheduleRefresh();
  }

  private scheduleRefresh(afterMs = kMinBetweenMs) {
    clearTimeout(this.timer);
    const due = this.refreshedMs + afterMs - this.now();
    // Not later than that, also where the clock was set back meanwhile.
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
      if (this.slot(path).listeners.size === 0) continue; // whoever asked has gone elsewhere
      this.settle(path, await this.source.get(path));
    }
    this.busy.delete(kind);
  }

  private settle(path: string, answer: Answer) {
    const slot = this.slot(path);
    const receivedMs = this.now();
    if (answer.kind === "answer") {
      slot.entry = { status: "ready", value: answer.value, receivedMs };
      this.valueListeners.forEach((listener) => listener(path, answer.value));
    } else if (answer.kind === "unreachable" && slot.entry.value !== undefined) {
      slot.entry = { ...slot.entry, status: "stale", message: answer.message };
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

  private tellState() {
    this.stateListeners.forEach((listener) => listener());
  }
}
