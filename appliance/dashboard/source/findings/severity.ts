// SPDX-License-Identifier: BSD-3-Clause
// The severity of a finding. The API reports a confidence, which is not a severity. The rule, in this
// order, which docs/dashboard.md explains to operators:
//   1. info: suspected faults, which are more likely wrong than right.
//   2. critical: a confidence of at least 0.8 (as for the alert RoceFault), and the fault affects a
//      job or its kind takes a link, a NIC or a switch out of service.
//   3. warning: everything else.
// The end of a fault does not change its severity; the state shows it.
import type { Finding } from "../api/messages";
import { sortKey } from "../format/moments";

export const kSeverities = ["critical", "warning", "info"] as const;
export type Severity = (typeof kSeverities)[number];
export const kStates = ["ongoing", "resolved", "suspected"] as const;
export type State = (typeof kStates)[number];

const kCriticalConfidence = 0.8;
const kSuspectedConfidence = 0.5;
const kOutages = new Set(["link_down", "switch_crash", "nic_crash", "blackhole", "pfc_deadlock", "pfc_storm"]);

type Judged = Pick<Finding, "kind" | "confidence" | "affected_job_ids">;

export function severityOf({ kind, confidence, affected_job_ids }: Judged): Severity {
  if (confidence < kSuspectedConfidence) return "info";
  const isSerious = affected_job_ids.length > 0 || kOutages.has(kind);
  return isSerious && confidence >= kCriticalConfidence ? "critical" : "warning";
}

export function stateOf({ confidence, end_time }: Pick<Finding, "confidence" | "end_time">): State {
  if (confidence < kSuspectedConfidence) return "suspected";
  return end_time === undefined ? "ongoing" : "resolved";
}

// Ongoing findings first, then by severity, number of affected jobs, and start, the latest first.
export function worstFirst(a: Finding, b: Finding): number {
  const state = kStates.indexOf(stateOf(a)) - kStates.indexOf(stateOf(b));
  const severity = kSeverities.indexOf(severityOf(a)) - kSeverities.indexOf(severityOf(b));
  return (
    state || severity || b.affected_job_ids.length - a.affected_job_ids.length ||
    sortKey(b.start_time) - sortKey(a.start_time)
  );
}
