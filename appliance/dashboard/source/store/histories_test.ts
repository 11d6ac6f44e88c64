// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Store } from "./store";
import { Histories, ratesBetween } from "./histories";

const kBefore = { timeMs: 1000, received: 100n, bytes: 1000n, records: 10n, lost: 0n };

it("computes rates from two polls", () => {
  const after = { timeMs: 3000, received: 300n, bytes: 251_000n, records: 30n, lost: 4n };
  expect(ratesBetween(kBefore, after)).toEqual({ timeS: 3, frames: 100, bits: 1_000_000, records: 10, lost: 2 });
});

it("has no rates across a restart of the appliance, or without elapsed time", () => {
  expect(ratesBetween(kBefore, { ...kBefore, timeMs: 2000, received: 7n })).toBeUndefined();
  expect(ratesBetween(kBefore, kBefore)).toBeUndefined();
});

function collected() {
  let respond: (path: string, value: unknown) => void = () => {};
  let nowMs = 1_000_000;
  const store = { onValue: (listener: typeof respond) => (respond = listener) } as unknown as Store;
  const histories = new Histories(store, () => nowMs);
  return {
    histories,
    at: (ms: number) => (nowMs = ms),
    window: (endS: number) =>
      respond("/api/v1/links", { end_time: endS > 0 ? new Date(endS * 1000).toISOString() : undefined, link_loads: [] }),
    jobs: (timeS: number, periods: Record<string, string | undefined>) =>
      respond("/api/v1/jobs", {
        snapshot: { data_time: new Date(timeS * 1000).toISOString() },
        jobs: Object.entries(periods).map(([job_id, iteration_period]) => ({ job_id, iteration_period })),
      }),
    poll: (received: number) =>
      respond("/api/v1/sources", {
        sources: [{ name: "a", ledger: { received: `${received}` }, bytes: "0", records: "0", missed_frames: "0", dropped_records: "0" }],
      }),
  };
}

it("keeps each window of links once, in order", () => {
  const { histories, window } = collected();
  for (const endS of [100, 101, 101, 100, 99, 102]) window(endS);
  expect(histories.links.map(({ endS }) => endS)).toEqual([100, 101, 102]);
});

it("restarts when the appliance's clock is set back", () => {
  const { histories, window } = collected();
  for (const endS of [3700, 3701, 0, 100, 101]) window(endS);
  expect(histories.links.map(({ endS }) => endS)).toEqual([100, 101]);
});

it("restarts the source rates when the browser's clock is set back", () => {
  const { histories, at, poll } = collected();
  for (const [ms, received] of [[50_000, 1], [51_000, 2], [10_000, 3], [11_000, 4]] as const) {
    at(ms);
    poll(received);
  }
  expect(histories.sources.get("a")?.map(({ timeS }) => timeS)).toEqual([11]);
});

it("keeps the iteration times of the jobs that are present", () => {
  const { histories, jobs } = collected();
  jobs(100, { a: "0.5s", b: undefined });
  jobs(100, { a: "0.9s" });
  jobs(101, { a: "0.6s" });
  expect(histories.jobs.get("a")).toEqual([{ timeS: 100, periodNs: 5e8 }, { timeS: 101, periodNs: 6e8 }]);
  expect(histories.jobs.has("b")).toBe(false);
  jobs(50, { a: "0.7s" });
  expect(histories.jobs.get("a")).toEqual([{ timeS: 50, periodNs: 7e8 }]);
});

it("does not collect past answers", () => {
  let respond: (path: string, value: unknown) => void = () => {};
  const histories = new Histories({ onValue: (listener: typeof respond) => (respond = listener) } as unknown as Store);
  respond("/api/v1/links?at_time=2026-01-31T12%3A03%3A59Z", { end_time: "2026-01-31T12:04:00Z", link_loads: [] });
  respond("/api/v1/jobs?at_time=2026-01-31T12%3A03%3A59Z", { jobs: [{ job_id: "a", iteration_period: "1s" }] });
  expect([histories.links.length, histories.jobs.size]).toEqual([0, 0]);
});
