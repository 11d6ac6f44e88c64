// SPDX-License-Identifier: BSD-3-Clause
// Names of the API in plain words. A name that is not listed, of a newer box, shows as it is.

const kAbbreviations = /\b(gpu|nic|cnp|ce|ecn|pfc|mtu|qp|rdma|roce|icrc|rnr|udp|int|rx|tx)(s?)\b/g;

export function words(name: string): string {
  return name
    .replace(/_/g, " ")
    .replace(kAbbreviations, (_, letters: string, many: string) =>
      letters === "roce" ? "RoCE" : letters.toUpperCase() + many);
}

export const kCauses: Record<string, string> = {
  held: "held by pause frames from the other end",
  incast: "many senders to one receiver at once",
  one_sender: "one sender alone fills it",
  collision: "hashing put several large flows on this link, while others have room",
  overload: "all links of the group are full",
  unknown: "cause not known",
};

export const kHotspotSources: Record<string, string> = {
  counters: "the switch's counters",
  int: "in-band telemetry",
  marks: "CE marks that flows got there",
  inferred: "inferred from the flows' paths and rates",
};

export const kObstacles: Record<string, string> = {
  foreign_topology:
    "No fault was looked for: most addresses that talk belong to no NIC of the given topology.",
  sparse_readings:
    "No fault was looked for: counters are read less often than once in an analysis window.",
  other_time: "No fault was looked for: no counters were read while packets passed.",
  few_windows: "There were too few analysis windows: that no fault was found says nothing.",
};

export const kStretchStates: Record<string, [string, string]> = {
  STATE_EXACT: ["exact", "one path alone agrees with what was seen"],
  STATE_LIKELY: ["likely", "another path is possible and not believed"],
  STATE_AMBIGUOUS: ["ambiguous", "several paths agree with what was seen"],
  STATE_SPREAD: ["spread", "packets take several paths at a time"],
  STATE_STRAY: ["stray", "what was seen agrees with no path of the topology"],
  STATE_UNKNOWN: ["unknown", "an address that the topology has not, or no way between the two"],
  STATE_UNSPECIFIED: ["unknown", "the box does not say"],
};

export const kIdentities: Record<string, string> = {
  nccl_log: "NCCL logs",
  rdma_resource: "the hosts' kernels",
  scheduler: "the scheduler",
  wire: "its traffic alone",
};

export const kServiceStates: Record<string, string> = {
  met: "within bounds",
  at_risk: "at risk",
  missed: "missed",
  no_data: "no data",
};
