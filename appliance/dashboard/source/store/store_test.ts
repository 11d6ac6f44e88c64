// SPDX-License-Identifier: BSD-3-Clause
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Answer, DataSource, SourceListener } from "../api/data_source";
import type { Event as ApplianceEvent } from "../api/messages";
import { kMaxAttempts } from "../api/whole_list";
import { kindOf, kMinBetweenHistoryMs, kMinBetweenMs, kMaxBetweenMs, Store } from "./store";

class FakeSource implements DataSource {
  readonly live = true;
  requested: string[] = [];
  listener?: SourceListener;
  private readonly pending: ((answer: Answer) => void)[] = [];

  get(path: string): Promise<Answer> {
    this.requested.push(path);
    return new Promise((resolve) => this.pending.push(resolve));
  }
  watch(listener: SourceListener) {
    this.listener = listener;
    return () => {};
  }
  async answer(value: unknown) {
    await this.give({ kind: "answer", value });
  }
  async give(answer: Answer) {
    this.pending.shift()?.(answer);
    await vi.advanceTimersByTimeAsync(0);
  }
}

const kSnapshotEvent = { kind: "KIND_SNAPSHOT", cursor: "0" } as ApplianceEvent;
const nothing = () => {};

let source: FakeSource;
let store: Store;

beforeEach(() => {
  vi.useFakeTimers();
  source = new FakeSource();
  store = new Store(source, () => Date.now(), () => false);
  store.start();
});
afterEach(() => {
  store.stop();
  vi.useRealTimers();
});

it("has one request of a kind in flight", async () => {
  store.subscribe("/api/v1/hotspots?job_id=a", nothing);
  store.subscribe("/api/v1/hotspots", nothing);
  store.subscribe("/api/v1/jobs", nothing);
  expect(source.requested).toEqual(["/api/v1/hotspots?job_id=a", "/api/v1/jobs?page_size=1000"]);
  await source.answer({});
  expect(source.requested.at(-1)).toBe("/api/v1/hotspots");
});

it("reads all pages of a list before it shows the list", async () => {
  const path = "/api/v1/links";
  store.subscribe(path, nothing);
  await source.answer({ link_loads: [1], total_size: 2, next_page_token: "t" });
  expect(store.entry(path).status).toBe("waiting");
  await source.answer({ link_loads: [2], total_size: 2, next_page_token: "" });
  expect(store.entry(path)).toMatchObject({ status: "ready", value: { link_loads: [1, 2], total_size: 2 } });
});

it("merges repeated requests", async () => {
  store.subscribe("/api/v1/findings", nothing);
  store.refresh();
  store.refresh();
  await source.answer({});
  expect(source.requested).toHaveLength(2);
});

it("refreshes after an event, at most once per second", async () => {
  store.subscribe("/api/v1/findings", nothing);
  await source.answer({});
  for (let i = 0; i < 20; ++i) source.listener?.event(kSnapshotEvent);
  await vi.advanceTimersByTimeAsync(kMinBetweenMs);
  expect(source.requested).toHaveLength(2);
});

it("reads the history again after a change, otherwise less often", async () => {
  const path = "/api/v1/history/events?start_time=a";
  store.subscribe(path, nothing);
  await source.answer({});
  await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs - 1);
  expect(source.requested).toHaveLength(1);
  source.listener?.event({ kind: "KIND_FAULT_STARTED", cursor: "1" } as ApplianceEvent);
  await vi.advanceTimersByTimeAsync(kMinBetweenMs);
  expect(source.requested).toHaveLength(2);
  await source.answer({});
  await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs + kMaxBetweenMs);
  expect(source.requested).toHaveLength(3);
});

it("refreshes periodically without events", async () => {
  store.subscribe("/api/v1/sources", nothing);
  await source.answer({});
  await vi.advanceTimersByTimeAsync(kMaxBetweenMs);
  expect(source.requested).toHaveLength(2);
});

it("requests the topology once, and nothing that no view uses", async () => {
  store.subscribe("/api/v1/topology", nothing);
  const leave = store.subscribe("/api/v1/links", nothing);
  await source.answer({});
  await source.answer({});
  leave();
  store.refresh();
  expect(source.requested).toHaveLength(2);
});

it("requests a range of the history once, also if there is no history", async () => {
  const path = "/api/v1/history/jobs?job_id=a&start_time=x";
  store.subscribe(path, nothing);
  await source.give({ kind: "refused", status: 400, error: { reason: "NO_HISTORY", message: "" } });
  store.refresh();
  store.subscribe(`${path}2`, nothing);
  await source.give({ kind: "refused", status: 429, error: { reason: "TOO_MANY", message: "" } });
  store.refresh();
  expect(source.requested).toEqual([path, `${path}2`, `${path}2`]);
});

describe("what is shown", () => {
  const path = "/api/v1/jobs";
  beforeEach(() => {
    store.subscribe(path, nothing);
  });
  it("is the last response, marked stale, when the appliance does not respond", async () => {
    await source.answer({ jobs: [] });
    store.refresh();
    await source.give({ kind: "unreachable", message: "refused" });
    expect(store.entry(path)).toMatchObject({ status: "stale", value: { jobs: [] } });
  });
  it("is the last response, marked stale, when the list changes while it is read", async () => {
    await source.answer({ jobs: [1] });
    store.refresh();
    const error = { reason: "PAGE_FORGOTTEN", message: "start again" };
    for (let attempt = 0; attempt < kMaxAttempts; ++attempt) {
      await source.give({ kind: "refused", status: 400, error });
    }
    expect(store.entry(path)).toMatchObject({ status: "stale", value: { jobs: [1] } });
  });
  it("is the error, not an older response, when the appliance rejects a request", async () => {
    await source.answer({ jobs: [] });
    store.refresh();
    const error = { reason: "NO_SNAPSHOT_YET", message: "wait" };
    await source.give({ kind: "refused", status: 503, error });
    expect(store.entry(path)).toMatchObject({ status: "refused", error });
    expect(store.entry(path).value).toBeUndefined();
  });
});

it("refreshes when a lost connection is back", async () => {
  store.subscribe("/api/v1/jobs", nothing);
  await source.answer({});
  source.listener?.connection("lost");
  expect(store.connection).toBe("lost");
  source.listener?.connection("open");
  await vi.advanceTimersByTimeAsync(kMinBetweenMs);
  expect(source.requested).toHaveLength(2);
});

it("keeps events, the latest first", () => {
  source.listener?.event({ kind: "KIND_FAULT_STARTED", cursor: "1" } as ApplianceEvent);
  source.listener?.event({ kind: "KIND_FAULT_RESOLVED", cursor: "2" } as ApplianceEvent);
  source.listener?.event(kSnapshotEvent);
  expect(store.events.map(({ cursor }) => cursor)).toEqual(["2", "1"]);
});

it("derives kinds from paths", () => {
  expect(kindOf("/api/v1/jobs/a%2Fb")).toBe(kindOf("/api/v1/jobs?page_size=5"));
});

it("keeps refreshing when the browser's clock is set back", async () => {
  store.subscribe("/api/v1/jobs", nothing);
  await source.answer({});
  const requested = source.requested.length;
  vi.setSystemTime(Date.now() - 3_600_000);
  source.listener?.event(kSnapshotEvent);
  await vi.advanceTimersByTimeAsync(kMaxBetweenMs);
  expect(source.requested.length).toBeGreaterThan(requested);
});

describe("a past answer", () => {
  const path = "/api/v1/hotspots?page_size=9&at_time=2026-01-31T12%3A03%3A59Z";
  const health = (time: string) => ({ snapshot: { data_time: time } });
  async function reach(time: string) {
    const leave = store.subscribe("/api/v1/health", nothing);
    await source.answer(health(time));
    leave();
  }
  const asked = () => source.requested.filter((one) => one === path).length;

  it("is requested once", async () => {
    await reach("2026-01-31T13:00:00Z");
    store.subscribe(path, nothing);
    await source.answer({ hotspots: [] });
    for (let i = 0; i < 10; ++i) await vi.advanceTimersByTimeAsync(kMaxBetweenMs);
    store.subscribe(path, nothing);
    expect(asked()).toBe(1);
  });
  it("is requested once even if the health arrives later", async () => {
    store.subscribe(path, nothing);
    await source.answer({ hotspots: [] });
    await reach("2026-01-31T13:00:00Z");
    await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs + kMaxBetweenMs);
    expect(asked()).toBe(1);
  });
  it("is requested again while the history may still change it", async () => {
    await reach("2026-01-31T12:04:30Z");
    store.subscribe(path, nothing);
    await source.answer({ hotspots: [] });
    await vi.advanceTimersByTimeAsync(kMaxBetweenMs);
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs);
    expect(asked()).toBe(2);
    await source.answer({ hotspots: [] });
    await reach("2026-01-31T12:10:00Z");
    await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs + kMaxBetweenMs);
    expect(asked()).toBe(2);
  });
  it("is requested rarely while the telemetry has not reached it", async () => {
    await reach("2026-01-31T12:00:00Z");
    store.subscribe(path, nothing);
    await source.give({ kind: "refused", status: 404, error: { reason: "NO_DATA_AT_TIME", message: "" } });
    await vi.advanceTimersByTimeAsync(2 * kMaxBetweenMs);
    expect(asked()).toBe(1);
    await vi.advanceTimersByTimeAsync(kMinBetweenHistoryMs);
    expect(asked()).toBe(2);
  });
  it("that does not exist is requested once", async () => {
    await reach("2026-01-31T13:00:00Z");
    store.subscribe(path, nothing);
    await source.give({ kind: "refused", status: 404, error: { reason: "NO_DATA_AT_TIME", message: "" } });
    await vi.advanceTimersByTimeAsync(3 * kMaxBetweenMs);
    expect(asked()).toBe(1);
  });
  it("is not a second value of what the views have loaded", async () => {
    for (const one of ["/api/v1/jobs/a", "/api/v1/jobs/a?at_time=2026-01-31T12%3A03%3A59Z"]) {
      store.subscribe(one, nothing);
      await source.answer({ job: one });
    }
    expect(store.loaded("/api/v1/jobs/")).toHaveLength(1);
  });
});
