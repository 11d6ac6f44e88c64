// SPDX-License-Identifier: BSD-3-Clause
// The filter of the list of findings, as the URL keeps it.
import type { Finding } from "../api/messages";
import { severityOf, stateOf } from "./severity";
import { kindTitle } from "./titles";

export interface Filter {
  severity: string; // empty: all
  state: string;
  kind: string;
  text: string; // words that must all occur
}

export function filterOf({ severity = "", state = "", kind = "", text = "" }: Record<string, string>): Filter {
  return { severity, state, kind, text };
}

export function isFiltered(filter: Filter): boolean {
  return Object.values(filter).some((value) => value !== "");
}

function textOf(finding: Finding): string {
  const { kind, place, sentence, recommended_action, affected_job_ids, exposed_job_ids } = finding;
  return [kind, kindTitle(kind), place, sentence, recommended_action, ...affected_job_ids, ...exposed_job_ids]
    .join(" ").toLowerCase();
}

export function matches(finding: Finding, { severity, state, kind, text }: Filter): boolean {
  if (severity && severityOf(finding) !== severity) return false;
  if (state && stateOf(finding) !== state) return false;
  if (kind && finding.kind !== kind) return false;
  const all = text === "" ? "" : textOf(finding);
  return text.toLowerCase().split(/\s+/).every((word) => all.includes(word));
}
