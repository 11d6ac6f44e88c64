// SPDX-License-Identifier: BSD-3-Clause
// Display texts for names of the API. An unlisted name (of a newer appliance) is shown as words.
import type {
  DiagnosisCoverageObstacle, HotspotCause, HotspotSource, JobIdentity, PathIntervalState,
  ServiceLevelState,
} from "../api/messages";

const kAbbreviations =
  /\b(gpu|nic|cnp|ce|ecn|pfc|mtu|qp|rdma|roce|icrc|rnr|udp|int|rx|tx|nccl|dpdk|sflow)(s?)\b/g;
const kMixedCase: Record<string, string> = { roce: "RoCE", sflow: "sFlow" };

export function words(name: string): string {
  return name
    .replace(/_/g, " ")
    .replace(kAbbreviations, (_, letters: string, many: string) =>
      (kMixedCase[letters] ?? letters.toUpperCase()) + many);
}

// The names of the enumerations, which are the prefixes of their values.
const kEnumPrefix =
  /^(RANK_SOURCE|ELEMENT_KIND|SERVICE_LAYER|START_REASON|CHANGE_CAUSE|STATE|KIND|TIER|CAUSE|SOURCE|IDENTITY|OBSTACLE|MODEL|VIOLATION|QUESTION|DISTANCE)_/;

// "STATE_AT_RISK" becomes "at_risk". An unspecified or missing value becomes "".
export function enumName(value: string | undefined): string {
  const name = (value ?? "").replace(kEnumPrefix, "").toLowerCase();
  return name === "unspecified" ? "" : name;
}

// "STATE_AT_RISK" becomes "at risk". An unspecified or missing value becomes "".
export function enumWords(value: string | undefined): string {
  return words(enumName(value));
}

const kCauses: Partial<Record<HotspotCause, string>> = {
  CAUSE_PAUSED: "paused by PFC frames from the peer",
  CAUSE_INCAST: "incast: many senders to one receiver at the same time",
  CAUSE_ONE_SENDER: "a single sender fills the link",
  CAUSE_COLLISION: "ECMP hashing put several large flows on this link while other links have capacity",
  CAUSE_OVERLOAD: "all links of the group are congested",
  CAUSE_UNKNOWN: "unknown cause",
};

export function causeText(cause: HotspotCause): string {
  return kCauses[cause] ?? (enumWords(cause) || "unknown cause");
}

const kHotspotSources: Partial<Record<HotspotSource, string>> = {
  SOURCE_COUNTERS: "switch counters",
  SOURCE_INT: "in-band network telemetry (INT)",
  SOURCE_CE_MARKS: "CE marks of flows at this port",
  SOURCE_INFERRED: "inferred from flow paths and rates",
};

export function hotspotSourceText(source: HotspotSource): string {
  return kHotspotSources[source] ?? (enumWords(source) || "unknown");
}

const kObstacles: Partial<Record<DiagnosisCoverageObstacle, string>> = {
  OBSTACLE_FOREIGN_TOPOLOGY:
    "Fault diagnosis did not run: the topology describes another fabric. It lacks most observed addresses, or counters and flows contradict many of its links.",
  OBSTACLE_SPARSE_READINGS:
    "Fault diagnosis is limited: the counter polling interval exceeds the analysis window.",
  OBSTACLE_OTHER_TIME: "Fault diagnosis did not run: no counters were read while packets were observed.",
  OBSTACLE_FEW_WINDOWS: "There were too few analysis windows: the absence of findings is not meaningful.",
};

// Empty if the telemetry suffices.
export function obstacleText(obstacle: DiagnosisCoverageObstacle): string {
  const name = enumWords(obstacle);
  return kObstacles[obstacle] ?? (name && `Fault diagnosis is limited: ${name}.`);
}

const kPathStates: Partial<Record<PathIntervalState, string>> = {
  STATE_EXACT: "only one path is consistent with the observations",
  STATE_LIKELY: "another path is possible but unlikely",
  STATE_AMBIGUOUS: "several paths are consistent with the observations",
  STATE_SPREAD: "packets take several paths at the same time",
  STATE_STRAY: "no path of the topology is consistent with the observations",
  STATE_UNKNOWN: "an address is not in the topology, or there is no path between the two",
};

// The state and its meaning.
export function pathState(state: PathIntervalState | undefined): [string, string] {
  const meaning = state && kPathStates[state];
  return [enumWords(state) || "unknown", meaning ?? "the state is not reported"];
}

const kIdentities: Partial<Record<JobIdentity, string>> = {
  IDENTITY_NCCL_LOG: "NCCL logs",
  IDENTITY_RDMA_RESOURCE: "host kernels (RDMA resources)",
  IDENTITY_SCHEDULER: "the scheduler",
  IDENTITY_WIRE: "traffic only",
};

export function identityText(identity: JobIdentity): string {
  return kIdentities[identity] ?? (enumWords(identity) || "unknown");
}

export function serviceStateText(state: ServiceLevelState): string {
  return state === "STATE_MET" ? "within bounds" : enumWords(state) || "unknown";
}
