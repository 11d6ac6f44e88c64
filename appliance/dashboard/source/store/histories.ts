// SPDX-License-Identifier: BSD-3-Clause
// Time series collected since this page was opened. The appliance's history database is not used.
import type { ListJobsResponse, ListLinkLoadsResponse, ListSourcesResponse, Source } from "../api/messages";
import { sortKey } from "../format/moments";
import { toNanoseconds } from "../format/quantities";
import type { Store } from "./store";

const kLinkWindows = 240;
const kSourcePolls = 240;
const kJobSnapshots = 240;
const kSetBackS = 2; // a time this much earlier means that the clock was set back

export interface SourceRates {
  timeS: number;
  frames: number; // received per second
  bits: number; // per second
  records: number; // per second
  lost: number; // frames missed and records dropped, per second
}

interface Poll {
  timeMs: number;
  received: bigint;
  bytes: bigint;
  records: bigint;
  lost: bigint;
}

function pollOf(source: Source, timeMs: number): Poll {
  return {
    timeMs,
    received: BigInt(source.ledger?.received ?? "0"),
    bytes: BigInt(source.bytes),
    records: BigInt(source.records),
    lost: BigInt(source.missed_frames) + BigInt(source.dropped_records),
  };
}

// Undefined if no time has passed, or the counters restarted with the appliance.
export function ratesBetween(before: Poll, after: Poll): SourceRates | undefined {
  const seconds = (after.timeMs - before.timeMs) / 1000;
  if (seconds <= 0 || after.received < before.received) return undefined;
  const rate = (from: bigint, to: bigint) => Number(to - from) / seconds;
  return {
    timeS: after.timeMs / 1000,
    frames: rate(before.received, after.received),
    bits: rate(before.bytes, after.bytes) * 8,
    records: rate(before.records, after.records),
    lost: rate(before.lost, after.lost),
  };
}

export interface LinkWindow {
  endS: number;
  utilization: Map<string, number>; // by sending port; unknown values are absent
}

export interface JobValue {
  timeS: number;
  periodNs?: number; // iteration period; unset: not detected
}

export class Histories {
  readonly links: LinkWindow[] = [];
  readonly jobs = new Map<string, JobValue[]>();
  readonly sources = new Map<string, SourceRates[]>();
  private readonly polls = new Map<string, Poll>();

  constructor(
    store: Store,
    private readonly now: () => number = () => Date.now(),
  ) {
    store.onValue((path, value) => {
      if (path === "/api/v1/links") this.addLinks(value as ListLinkLoadsResponse);
      if (path === "/api/v1/jobs") this.addJobs(value as ListJobsResponse);
      if (path === "/api/v1/sources") this.addSources(value as ListSourcesResponse);
    });
  }

  private addLinks(answer: ListLinkLoadsResponse) {
    const endS = sortKey(answer.end_time) / 1e9;
    const lastS = this.links.at(-1)?.endS ?? 0;
    // The clock was set back: the collected times are in the future.
    if (endS + kSetBackS < lastS && endS !== 0) this.links.length = 0;
    else if (endS <= lastS) return;
    const utilization = new Map<string, number>();
    for (const load of answer.link_loads) {
      if (load.utilization !== undefined) utilization.set(load.port, load.utilization);
    }
    this.links.push({ endS, utilization });
    if (this.links.length > kLinkWindows) this.links.shift();
  }

  private addJobs(answer: ListJobsResponse) {
    const timeS = sortKey(answer.snapshot?.data_time) / 1e9;
    for (const { job_id, iteration_period } of answer.jobs) {
      const list = this.jobs.get(job_id) ?? [];
      const lastS = list.at(-1)?.timeS ?? 0;
      if (timeS + kSetBackS < lastS) list.length = 0;
      else if (timeS <= lastS) continue;
      list.push({ timeS, periodNs: iteration_period === undefined ? undefined : toNanoseconds(iteration_period) });
      if (list.length > kJobSnapshots) list.shift();
      this.jobs.set(job_id, list);
    }
    const present = new Set(answer.jobs.map((job) => job.job_id));
    for (const job of this.jobs.keys()) if (!present.has(job)) this.jobs.delete(job);
  }

  private addSources(answer: ListSourcesResponse) {
    for (const source of answer.sources) {
      const poll = pollOf(source, this.now());
      const before = this.polls.get(source.name);
      this.polls.set(source.name, poll);
      if (before && poll.timeMs + 1000 * kSetBackS < before.timeMs) this.sources.delete(source.name);
      const rates = before && ratesBetween(before, poll);
      if (!rates) continue;
      const list = this.sources.get(source.name) ?? [];
      list.push(rates);
      if (list.length > kSourcePolls) list.shift();
      this.sources.set(source.name, list);
    }
  }
}
