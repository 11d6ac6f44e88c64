// SPDX-License-Identifier: BSD-3-Clause
// A finding for tests.
import type { Finding } from "../api/messages";

// A part of the appliance's rule.
function severity({ kind = "", confidence = 1, affected_job_ids: jobs = [] }: Partial<Finding>): Finding["severity"] {
  if (confidence < 0.5) return "SEVERITY_INFO";
  return confidence >= 0.8 && (jobs.length > 0 || kind === "switch_crash") ? "SEVERITY_CRITICAL" : "SEVERITY_WARNING";
}

export function makeFinding(fields: Partial<Finding> = {}): Finding {
  return {
    severity: severity(fields),
    kind: "gray_loss",
    place: "leaf1:3-spine0:1",
    direction: "leaf1:3",
    confidence: 0.95,
    start_time: "2026-01-31T12:00:00Z",
    sentence: "The link leaf1:3-spine0:1 has silent packet loss.",
    recommended_action: "Drain the link.",
    evidence: [],
    alternatives: [],
    missing_telemetry: [],
    culprits: [],
    affected_job_ids: [],
    loop_ports: [],
    symptoms: [],
    persistence: "PERSISTENCE_PERMANENT",
    active_count: 1,
    detector: "loss",
    uncalibrated_confidence: 0.95,
    exposed_job_ids: [],
    ...fields,
  };
}
