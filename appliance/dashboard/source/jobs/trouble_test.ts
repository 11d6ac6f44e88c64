// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Job, JobSummary } from "../api/messages";
import { sparkPath } from "../parts/sparkline";
import { byTrouble, rankStates } from "./trouble";

const summary = (job_id: string, changes: Partial<JobSummary> = {}) =>
  ({ job_id, finding_sentences: [], straggler: "", service_level_state: "STATE_MET", expected_rank_count: 8, ...changes }) as unknown as JobSummary;

it("lists jobs with faults first, then violated service levels, then large jobs", () => {
  const jobs = [
    summary("healthy"), summary("large", { expected_rank_count: 64 }), summary("at-risk", { service_level_state: "STATE_AT_RISK" }),
    summary("fault", { finding_sentences: ["x"] }), summary("missed", { service_level_state: "STATE_MISSED" }),
  ];
  expect(byTrouble(jobs).map((job) => job.job_id)).toEqual(["fault", "missed", "at-risk", "large", "healthy"]);
});

function jobOf(ranks: number): Job {
  const edge = (source_rank: number, retransmitted_packets: string, ce_marked_packets: string) =>
    ({ source_rank, destination_rank: 0, bytes: "10", retransmitted_packets, ce_marked_packets });
  return {
    ranks: Array.from({ length: ranks }, (_, rank) => ({ rank, host: `h${rank}`, addresses: [`10.0.0.${rank}`], queue_pairs: [{ seen: rank !== 1 }] })),
    edges: [edge(2, "0", "7"), edge(3, "5", "0"), edge(4, "9", "0")],
    iteration_pattern: { members: [{ address: "10.0.0.5" }], straggler: { member_index: 0 } },
  } as unknown as Job;
}

it("lists the straggler first, then ranks that retransmit, with the reasons", () => {
  const states = rankStates(jobOf(6));
  expect(states.map(({ rank }) => rank.rank)).toEqual([5, 4, 3, 2, 1, 0]);
  expect(states.map(({ troubles }) => troubles.join())).toEqual(["straggler", "retransmissions", "retransmissions", "CE marks", "not observed", ""]);
  expect(states.at(-1)?.traffic.received).toBe(30);
});

it("interrupts the line of a sparkline where a value is missing", () => {
  expect(sparkPath([0, 1, 2, 3], [1, null, 1, 1], 30, 22).match(/[ML]/g)?.join("")).toBe("MML");
  expect(sparkPath([0], [5], 30, 22)).toBe("M30.0 2.8");
});
