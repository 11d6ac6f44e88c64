// SPDX-License-Identifier: BSD-3-Clause
// Display texts for names of the API. An unlisted name (of a newer appliance) is shown unchanged.

const kAbbreviations = /\b(gpu|nic|cnp|ce|ecn|pfc|mtu|qp|rdma|roce|icrc|rnr|udp|int|rx|tx)(s?)\b/g;

export function words(name: string): string {
  return name
    .replace(/_/g, " ")
    .replace(kAbbreviations, (_, letters: string, many: string) =>
      letters === "roce" ? "RoCE" : letters.toUpperCase() + many);
}

export const kCauses: Record<string, string> = {
  held: "paused by PFC frames from the peer",
  incast: "incast: many senders to one receiver at the same time",
  one_sender: "a single sender fills the link",
  collision: "ECMP hashing put several large flows on this link while other links have capacity",
  overload: "all links of the group are congested",
  unknown: "unknown cause",
};

export const kHotspotSources: Record<string, string> = {
  counters: "switch counters",
  int: "in-band network telemetry (INT)",
  marks: "CE marks of flows at this port",
  inferred: "inferred from flow paths and rates",
};

export const kObstacles: Record<string, string> = {
  foreign_topology:
    "Fault diagnosis did not run: most observed addresses belong to no NIC in the topology.",
  sparse_readings:
    "Fault diagnosis did not run: the counter polling interval exceeds the analysis window.",
  other_time: "Fault diagnosis did not run: no counters were read while packets were observed.",
  few_windows: "There were too few analysis windows: the absence of findings is not meaningful.",
};

export const kStretchStates: Record<string, [string, string]> = {
  STATE_EXACT: ["exact", "only one path is consistent with the observations"],
  STATE_LIKELY: ["likely", "another path is possible but unlikely"],
  STATE_AMBIGUOUS: ["ambiguous", "several paths are consistent with the observations"],
  STATE_SPREAD: ["spread", "packets take several paths at the same time"],
  STATE_STRAY: ["stray", "no path of the topology is consistent with the observations"],
  STATE_UNKNOWN: ["unknown", "an address is not in the topology, or there is no path between the two"],
  STATE_UNSPECIFIED: ["unknown", "the state is not reported"],
};

export const kIdentities: Record<string, string> = {
  nccl_log: "NCCL logs",
  rdma_resource: "host kernels (RDMA resources)",
  scheduler: "the scheduler",
  wire: "traffic only",
};

export const kServiceStates: Record<string, string> = {
  met: "within bounds",
  at_risk: "at risk",
  missed: "missed",
  no_data: "no data",
};
