// SPDX-License-Identifier: BSD-3-Clause
// The filter of the list of findings, as the URL keeps it.
import type { Finding } from "../api/messages";
import { hasReview } from "./review";
import { severityOf, stateOf } from "./severity";
import { kindTitle } from "./titles";

export interface Filter {
  severity: string; // empty: all
  state: string;
  kind: string;
  review: string; // one of kReviewStates
  text: string; // words that must all occur
}

export function filterOf({ severity = "", state = "", kind = "", review = "", text = "" }: Record<string, string>): Filter {
  return { severity, state, kind, review, text };
}

export function isFiltered(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== "");
}

function textOf(finding: Finding, jobNames: ReadonlyMap<string, string>): string {
  const { kind, place, sentence, recommended_action, affected_job_ids, exposed_job_ids } = finding;
  const jobs = [...affected_job_ids, ...exposed_job_ids];
  return [kind, kindTitle(kind), place, sentence, recommended_action, ...jobs, ...jobs.map((id) => jobNames.get(id) ?? "")]
    .join(" ").toLowerCase();
}

const kNoNames: ReadonlyMap<string, string> = new Map();

export function matches(finding: Finding, { severity, state, kind, review, text }: Filter, jobNames = kNoNames): boolean {
  if (severity && severityOf(finding) !== severity) return false;
  if (state && stateOf(finding) !== state) return false;
  if (kind && finding.kind !== kind) return false;
  if (!hasReview(finding, review)) return false;
  const all = text === "" ? "" : textOf(finding, jobNames);
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
