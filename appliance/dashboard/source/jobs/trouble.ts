// SPDX-License-Identifier: BSD-3-Clause
// How severe the problems of a job or a rank are, so that lists show the worst first.
import type { Job, JobSummary, Rank } from "../api/messages";
import { naturally } from "../fabric/model";

const kStateScores: Record<string, number> = { STATE_MISSED: 2, STATE_AT_RISK: 1 };

// 0: none.
export function jobTrouble(job: JobSummary): number {
  const state = kStateScores[job.service_level_state] ?? 0;
  return job.finding_sentences.length * 10 + state * 3 + (job.straggler ? 1 : 0);
}

export function jobTitle(job: Pick<JobSummary, "job_id" | "allocation">): string {
  return job.allocation?.name || job.job_id;
}

// The worst first, then the largest.
export function byTrouble(jobs: JobSummary[]): JobSummary[] {
  return [...jobs].sort((a, b) =>
    jobTrouble(b) - jobTrouble(a) || b.expected_rank_count - a.expected_rank_count || naturally(jobTitle(a), jobTitle(b)));
}

export interface RankTraffic {
  sent: number;
  received: number;
  retransmitted: number; // packets
  ceMarked: number; // packets
}

export function trafficOf(job: Job): Map<number | undefined, RankTraffic> {
  const sums = new Map<number | undefined, RankTraffic>();
  const of = (rank: number | undefined) => {
    const found = sums.get(rank) ?? { sent: 0, received: 0, retransmitted: 0, ceMarked: 0 };
    sums.set(rank, found);
    return found;
  };
  for (const edge of job.edges) {
    const sender = of(edge.source_rank);
    sender.sent += Number(edge.bytes);
    sender.retransmitted += Number(edge.retransmitted_packets);
    sender.ceMarked += Number(edge.ce_marked_packets);
    of(edge.destination_rank).received += Number(edge.bytes);
  }
  return sums;
}

export function isStraggler(job: Job, rank: Rank): boolean {
  const { iteration_pattern: pattern } = job;
  const member = pattern?.straggler && pattern.members[pattern.straggler.member_index];
  return member !== undefined && rank.addresses.includes(member.address);
}

export interface RankState {
  rank: Rank;
  traffic: RankTraffic;
  troubles: string[]; // the worst first; empty: none is known
}

function troublesOf(job: Job, rank: Rank, traffic: RankTraffic): string[] {
  const unseen = rank.queue_pairs.filter((qp) => !qp.seen).length;
  return [
    isStraggler(job, rank) ? "straggler" : "",
    traffic.retransmitted > 0 ? "retransmissions" : "",
    traffic.ceMarked > 0 ? "CE marks" : "",
    rank.queue_pairs.length > 0 && unseen === rank.queue_pairs.length ? "not observed" : "",
  ].filter(Boolean);
}

const kScores: Record<string, number> = { straggler: 8, retransmissions: 4, "CE marks": 2, "not observed": 1 };
const scoreOf = (state: RankState) => state.troubles.reduce((sum, trouble) => sum + (kScores[trouble] ?? 0), 0);

// The ranks with problems first, the worst of them on top, then by number.
export function rankStates(job: Job): RankState[] {
  const sums = trafficOf(job);
  const states = job.ranks.map((rank): RankState => {
    const traffic = sums.get(rank.rank) ?? { sent: 0, received: 0, retransmitted: 0, ceMarked: 0 };
    return { rank, traffic, troubles: troublesOf(job, rank, traffic) };
  });
  const number = ({ rank }: RankState) => rank.rank ?? Number.MAX_SAFE_INTEGER;
  return states.sort((a, b) =>
    scoreOf(b) - scoreOf(a) || b.traffic.retransmitted - a.traffic.retransmitted || b.traffic.ceMarked - a.traffic.ceMarked || number(a) - number(b));
}
