// SPDX-License-Identifier: BSD-3-Clause
// The API's messages about jobs: Job and JobSummary.
import type { SnapshotMetadata, Int64 } from "./messages";

export interface Allocation {
  id: Int64;
  name: string;
  user: string;
}

export interface JobSummary {
  id: string;
  identity: string;
  allocation?: Allocation;
  ranks: number;
  ranks_with_log: number;
  hosts: number;
  bytes: Int64;
  first_seen_ns: Int64;
  last_seen_ns: Int64;
  period_ns: Int64;
  iterations: number;
  collectives: string[];
  straggler: string;
  findings: string[];
  service: string;
}

export interface ListJobsResponse {
  age?: SnapshotMetadata;
  jobs: JobSummary[];
  next_page_token: string;
}

export interface IterationPatternMember {
  address: string;
  host: string;
  device: string;
}

export interface Collective {
  kind: string;
  alternative: string;
  confidence: number;
  groups: { members: number[] }[];
  offset_ns: Int64;
  duration_ns: Int64;
  bytes: Int64;
}

export interface Straggler {
  member: number;
  lateness_ns: Int64;
  iterations: number;
  of: number;
  from_ns: Int64;
  until_ns: Int64;
  confidence: number;
}

export interface IterationPattern {
  period_ns: Int64;
  strength: number;
  iterations: number;
  first_ns: Int64;
  last_ns: Int64;
  members: IterationPatternMember[];
  collectives: Collective[];
  straggler?: Straggler;
}

export interface RankQp {
  qpn: number;
  seen: boolean;
}

export interface Rank {
  rank: number;
  host: string;
  process_id: Int64;
  cuda_device: number;
  gpu_bus_id: string;
  nics: string[];
  addresses: string[];
  queue_pairs: RankQp[];
}

export interface Edge {
  source_rank: number;
  destination_rank: number;
  bytes: Int64;
  messages: Int64;
  confidence: number;
  missing: Int64;
  retransmitted: Int64;
  ce_marked: Int64;
  cnps: Int64;
}

export interface Job {
  id: string;
  identity: string;
  expected_ranks: number;
  ranks_with_log: number;
  ranks: Rank[];
  edges: Edge[];
  notes: string[];
  iteration_pattern?: IterationPattern;
  allocation?: Allocation;
}

export interface GetJobResponse {
  age?: SnapshotMetadata;
  job?: Job;
  summary?: JobSummary;
}
