// SPDX-License-Identifier: BSD-3-Clause
// The health of the fabric in one sentence.
import type { DiagnosisCoverage, Finding } from "../api/messages";
import { nothingFound } from "../findings/coverage";
import { splitMuted } from "../findings/review";
import { severityOf, stateOf } from "../findings/severity";
import { coarse, count, plural } from "../format/quantities";
import type { Freshness } from "../parts/freshness";

export type Tone = "good" | "unknown" | "warning" | "critical";

export interface FabricState {
  tone: Tone;
  sentence: string;
  detail: string;
}

interface Input {
  findings: Finding[];
  coverage?: DiagnosisCoverage;
  jobCount?: number; // undefined: not known yet
  freshness?: Freshness;
  isRecording: boolean;
}

// In a recording, resolved faults are as relevant as those that last until its end.
export function activeFindings(findings: Finding[], isRecording: boolean): Finding[] {
  return findings.filter((finding) => stateOf(finding) === "ongoing" || (isRecording && stateOf(finding) === "resolved"));
}

export function affectedJobs(findings: Finding[]): string[] {
  return [...new Set(findings.flatMap((finding) => finding.affected_job_ids))];
}

function faultSentence(active: Finding[], jobCount: number | undefined): string {
  const criticals = active.filter((finding) => severityOf(finding) === "critical").length;
  const others = active.length - criticals;
  const parts = [
    criticals > 0 ? plural(criticals, "critical fault") : "",
    others > 0 ? plural(others, "warning") : "",
  ].filter(Boolean);
  const subject = parts.join(" and ");
  const jobs = affectedJobs(active).length;
  if (jobs === 0) return `${subject}; no affected job is known.`;
  // The list of jobs may not be loaded yet, or lack a job that ended.
  const total = jobCount === undefined || jobCount < jobs ? plural(jobs, "job") : `${count(jobs)} of ${plural(jobCount, "job")}`;
  return `${subject}; ${total} affected.`;
}

export function fabricState({ findings, coverage, jobCount, freshness, isRecording }: Input): FabricState {
  const active = activeFindings(findings, isRecording);
  const { title, conclusive } = nothingFound(coverage);
  const resolved = findings.length - active.length;
  const { alerting, muted } = splitMuted(active);
  const mutedText = muted.length > 0 ? `${count(muted.length)} muted.` : "";
  const current: FabricState = alerting.length > 0
    ? {
        tone: alerting.some((finding) => severityOf(finding) === "critical") ? "critical" : "warning",
        sentence: faultSentence(alerting, jobCount),
        detail: mutedText,
      }
    : muted.length > 0 ? { tone: "unknown", sentence: "No faults other than muted ones.", detail: mutedText } : { tone: conclusive ? "good" : "unknown", sentence: title, detail: resolved > 0 ? `${plural(resolved, "resolved fault")} not counted.` : "" };
  if (!freshness?.isOld) return current;
  return {
    tone: "unknown",
    sentence: `No telemetry for ${coarse(freshness.ageNs)}: the current state of the fabric is unknown.`,
    detail: `Last known state: ${current.sentence}`,
  };
}
