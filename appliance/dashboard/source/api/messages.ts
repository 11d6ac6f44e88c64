// SPDX-License-Identifier: BSD-3-Clause
// The API's responses as JSON. appliance/api/rocescope/v1/service.proto documents each field. Of
// report.proto, only the fields that the dashboard shows are declared here.

// A 64-bit integer. JSON has it as a string, because a number would lose digits.
export type Int64 = string;

export interface SnapshotMetadata {
  version: Int64;
  data_time_ns: Int64;
  published_time_ns: Int64;
  window_ns: Int64;
}

// The body of an error response (Google AIP-193).
export interface ErrorBody {
  error: {
    code: number;
    message: string;
    status: string;
    details: { "@type": string; reason?: string }[];
  };
}

// An error response, or what stands for one.
export interface ApiError {
  reason: string;
  message: string;
}

export interface Health {
  state: "STATE_UNSPECIFIED" | "STATE_SERVING" | "STATE_WAITING" | "STATE_DEGRADED";
  problems: string[];
  external_problems: string[]; // problems of agents and exporters
  version: string;
  started_ns: Int64;
  now_ns: Int64;
  age?: SnapshotMetadata;
  analysis_duration_ns: Int64;
  has_topology: boolean;
}

export interface DropCount {
  reason: string;
  frames: Int64;
  meaning: string;
}

export interface Ledger {
  received: Int64;
  decoded: Int64;
  filtered: Int64;
  dropped: DropCount[];
}

export interface Source {
  name: string;
  kind: string;
  listens: string[];
  ledger?: Ledger;
  bytes: Int64;
  missed: Int64;
  records: Int64;
  records_dropped: Int64;
  flows_open: Int64;
  last_arrival_ns: Int64;
  error: string;
}

export interface ListSourcesResponse {
  sources: Source[];
}

export interface BoxEvent {
  cursor: Int64;
  at_ns: Int64;
  kind: string;
  sentence: string;
  finding?: Finding;
  age?: SnapshotMetadata;
}

export interface TopologyNic {
  device: string;
  rail: number;
  addresses: string[];
}

export interface TopologyGpu {
  number: number;
  rail: number;
  nic: string;
}

export interface TopologyNode {
  name: string;
  tier: string;
  pod: number;
  nics: TopologyNic[];
  gpus: TopologyGpu[];
}

export interface TopologyLink {
  a: string;
  b: string;
  bits_per_second: Int64;
}

export interface Topology {
  name: string;
  nodes: TopologyNode[];
  links: TopologyLink[];
}

export interface LinkLoad {
  port: string;
  use: number;
  source: string;
  bytes: Int64;
  marked: Int64;
  dropped: Int64;
  paused_ns: Int64;
  peak_bytes: Int64;
  errors: Int64;
}

export interface ListLinkLoadsResponse {
  age?: SnapshotMetadata;
  from_ns: Int64;
  until_ns: Int64;
  loads: LinkLoad[];
}

export interface PortShare {
  port: string;
  share: number;
}

export interface PathInterval {
  from_ns: Int64;
  until_ns: Int64;
  began: string;
  state: string;
  probability: number;
  ports: string[];
  candidates: Int64;
  certain_ports: string[];
  shares: PortShare[];
  sources: string[];
  packets: Int64;
  bytes: Int64;
  reason: string;
  reason_place: string;
  reason_ns: Int64;
}

export interface FlowPath {
  segment: number;
  source: string;
  destination: string;
  destination_qpn: number;
  source_nic: string;
  destination_nic: string;
  intervals: PathInterval[];
}

export interface FindPathsResponse {
  age?: SnapshotMetadata;
  paths: FlowPath[];
  total: Int64;
  next_page_token: string;
}

export interface Culprit {
  source: string;
  destination: string;
  destination_qpn: number;
  bytes: Int64;
  share: number;
  job: string;
  rank: number;
}

export interface LostTime {
  job: string;
  lost_ns: Int64;
  ranks: number[];
}

export interface Hotspot {
  port: string;
  priority: number;
  from_ns: Int64;
  until_ns: Int64;
  peak_bytes: Int64;
  marked: Int64;
  dropped: Int64;
  paused_ns: Int64;
  culprits: Culprit[];
  source: string;
  cause: string;
  bytes: Int64;
  flows: number;
  imbalance: number;
  group_utilization: number;
  group_links: number;
  lost: LostTime[];
}

export interface ListHotspotsResponse {
  age?: SnapshotMetadata;
  hotspots: Hotspot[];
  total: Int64;
  next_page_token: string;
}

export interface Suspect {
  kind: string;
  place: string;
  direction: string;
  probability: number;
}

export interface Reach {
  jobs: number;
  ranks: number;
  gpus: number;
  hosts: number;
}

export interface Finding {
  kind: string;
  place: string;
  direction: string;
  confidence: number;
  from_ns: Int64;
  until_ns: Int64;
  detected_ns: Int64;
  sentence: string;
  recommended_action: string;
  evidence: string[];
  alternatives: Suspect[];
  further: string[];
  culprits: Culprit[];
  affected_jobs: string[];
  loop_ports: string[];
  symptoms: Suspect[];
  reach?: Reach;
}

export interface Silence {
  node: string;
  windows: number;
}

export interface DiagnosisCoverage {
  windows: Int64;
  window_ns: Int64;
  switches: number;
  nics: number;
  gpus: number;
  flows: Int64;
  not_seen: string[];
  switches_of: number;
  nics_of: number;
  gpus_of: number;
  silences: Silence[];
  obstacle: string;
  addresses: number;
  addresses_known: number;
  reading_period_ns: Int64;
  given_up?: string; // missing in responses of older appliances
}

export interface ListFindingsResponse {
  age?: SnapshotMetadata;
  findings: Finding[];
  coverage?: DiagnosisCoverage;
  zero_ns: Int64;
}

export interface MetricDeviation {
  metric: string;
  unit: string;
  observed: number;
  expected: number;
  spread: number;
  share: number;
}

export interface Anomaly {
  kind: string;
  place: string;
  priority: number;
  from_ns: Int64;
  until_ns: Int64;
  windows: number;
  peers: number;
  peak_ns: Int64;
  score: number;
  probability: number;
  models: string[];
  metrics: MetricDeviation[];
}

export interface PhaseChange {
  role: string;
  from_ns: Int64;
  until_ns: Int64;
  entities: number;
  of: number;
}

export interface ListAnomaliesResponse {
  age?: SnapshotMetadata;
  anomalies?: {
    anomalies: Anomaly[];
    phase_changes: PhaseChange[];
    judged: Int64;
    unjudged: Int64;
    shared: Int64;
  };
}

export interface ServiceLevel {
  indicator: string;
  layer: string;
  entity: string;
  state: string;
  bound: number;
  bound_learnt: boolean;
  last: number;
  within_short: number;
  within_long: number;
  windows: number;
}

export interface ServiceIndicator {
  name: string;
  layer: string;
  unit: string;
  worse: string;
  meaning: string;
  met: Int64;
  at_risk: Int64;
  missed: Int64;
  no_data: Int64;
  worst?: ServiceLevel;
}

export interface GetServiceLevelsResponse {
  age?: SnapshotMetadata;
  service_levels?: {
    objective: number;
    short_windows: number;
    long_windows: number;
    indicators: ServiceIndicator[];
    levels: ServiceLevel[];
    levels_left_out: Int64;
  };
}

export interface DependencyElement {
  name: string;
}

export interface GetDependenciesResponse {
  age?: SnapshotMetadata;
  dependency?: {
    kind: string;
    name: string;
    reach?: Reach;
    elements: { kind: string; elements: DependencyElement[] }[];
  };
  coverage?: { flows: Int64; known: Int64; partly: Int64; unclaimed: Int64 };
}
