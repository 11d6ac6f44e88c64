// SPDX-License-Identifier: BSD-3-Clause
// The severity and the state of a finding. The appliance decides the severity, by a rule that docs/dashboard.md
// explains to operators. The end of a fault does not change it; the state shows it.
import type { Finding } from "../api/messages";
import { sortKey } from "../format/moments";

export const kSeverities = ["critical", "warning", "info"] as const;
export type Severity = (typeof kSeverities)[number];
export const kStates = ["ongoing", "resolved", "suspected"] as const;
export type State = (typeof kStates)[number];

const kSuspectedConfidence = 0.5;

export function severityOf({ severity, confidence }: Pick<Finding, "severity" | "confidence">): Severity {
  const known = kSeverities.find((name) => severity === `SEVERITY_${name.toUpperCase()}`);
  return known ?? (confidence < kSuspectedConfidence ? "info" : "warning");
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
