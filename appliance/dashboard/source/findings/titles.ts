// SPDX-License-Identifier: BSD-3-Clause
// Short titles of findings, for lists. Finding.sentence is the full description.
import type { Finding } from "../api/messages";
import { words } from "../format/words";

const kTitles: Record<string, string> = {
  link_down: "Link down",
  flap: "Link flaps",
  degraded_rate: "Link below nominal speed",
  added_latency: "Link with added latency",
  gray_loss: "Silent packet loss",
  reordering: "Link that reorders packets",
  bit_errors: "Bit errors",
  corruption: "Switch corrupts packets",
  polarisation: "ECMP hash polarisation",
  blackhole: "Blackhole",
  switch_crash: "Switch down",
  incast: "Incast",
  slow_receiver: "Slow receiver",
  pfc_storm: "PFC pause storm",
  misconfigured_ecn: "ECN marking threshold too high",
  misconfigured_alpha: "PFC threshold too low",
  straggler: "Straggler GPU",
  noisy_neighbour: "Noisy neighbour",
  nic_crash: "NIC down",
  mtu_mismatch: "MTU too small",
  lost_cnps: "CNPs dropped",
  deprioritised_cnps: "CNPs deprioritised",
  pfc_deadlock: "PFC deadlock",
  swapped_cables: "Swapped cables",
};

// A kind of a newer appliance is shown as words.
export function kindTitle(kind: string): string {
  const text = words(kind);
  return kTitles[kind] ?? text.charAt(0).toUpperCase() + text.slice(1);
}

export function shortTitle({ kind, place }: Pick<Finding, "kind" | "place">): string {
  return `${kindTitle(kind)}, ${place}`;
}
