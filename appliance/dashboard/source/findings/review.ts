// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements and mutes: which findings alert, and the requests that change this.
import type { Answer, DataSource } from "../api/data_source";
import type { Finding } from "../api/messages";
import { utcDate, utcTime } from "../format/moments";

export function isMuted({ mute }: Pick<Finding, "mute">): boolean {
  return mute !== undefined;
}

// The findings that alert, and those that do not, in the given order.
export function splitMuted(findings: Finding[]): { alerting: Finding[]; muted: Finding[] } {
  return { alerting: findings.filter((finding) => !isMuted(finding)), muted: findings.filter(isMuted) };
}

// "acknowledged by ada, muted by bob until 2026-01-31 12:00 UTC". Empty: neither.
export function reviewText({ acknowledgement, mute }: Pick<Finding, "acknowledgement" | "mute">): string {
  return [
    acknowledgement ? `acknowledged by ${acknowledgement.user}` : "",
    mute ? `muted by ${mute.user} until ${utcDate(mute.expire_time)} ${utcTime(mute.expire_time, 0).slice(0, 5)} UTC` : "",
  ].filter(Boolean).join(", ");
}

// The states of the review by which the list can be filtered: "open" is neither acknowledged nor muted.
export const kReviewStates = ["open", "acknowledged", "muted"] as const;

export function hasReview(finding: Pick<Finding, "acknowledgement" | "mute">, state: string): boolean {
  switch (state) {
    case "open":
      return finding.acknowledgement === undefined && !isMuted(finding);
    case "acknowledged":
      return finding.acknowledgement !== undefined;
    case "muted":
      return isMuted(finding);
    default:
      return true;
  }
}

export type ReviewMethod = "acknowledge" | "unacknowledge" | "mute" | "unmute";

export const kMuteDurations: [seconds: number, text: string][] = [
  [3600, "1 hour"],
  [4 * 3600, "4 hours"],
  [86_400, "1 day"],
  [7 * 86_400, "7 days"],
  [30 * 86_400, "30 days"],
];
export const kDefaultMuteSeconds = 86_400;

// Returns the body of the request.
export function reviewBody(
  method: ReviewMethod, finding: Finding, { comment = "", seconds = kDefaultMuteSeconds } = {},
): Record<string, string> {
  const { kind, place, direction, start_time, acknowledgement, mute } = finding;
  switch (method) {
    case "acknowledge":
      return { kind, place, direction, comment, ...(start_time !== undefined && { start_time }) };
    case "unacknowledge": {
      const start = acknowledgement?.start_time;
      return { kind, place, direction, ...(start !== undefined && { start_time: start }) };
    }
    case "mute":
      return { kind, place, direction, comment, duration: `${seconds}s` };
    case "unmute":
      return { kind, place, direction: mute?.direction ?? direction };
  }
}

// Why the appliance does not accept changes from this client, after it has refused one. The page
// cannot ask for its roles.
const kForbidden = new WeakMap<DataSource, string>();

export function whyForbidden(source: DataSource): string | undefined {
  return kForbidden.get(source);
}

export interface ReviewResult {
  done: boolean;
  message: string; // empty: nothing to say
}

function resultOf(source: DataSource, answer: Answer): ReviewResult {
  switch (answer.kind) {
    case "answer": {
      const { durable, storage_problem } = answer.value as { durable: boolean; storage_problem: string };
      return { done: true, message: durable ? "" : `The change is lost if the appliance restarts: ${storage_problem}` };
    }
    case "refused":
      if (answer.error.reason === "NOT_ALLOWED") kForbidden.set(source, answer.error.message);
      return { done: false, message: answer.error.message };
    default:
      return { done: false, message: `The appliance does not respond: ${answer.message}` };
  }
}

export async function sendReview(
  source: DataSource, method: ReviewMethod, body: Record<string, string>,
): Promise<ReviewResult> {
  if (!source.post) return { done: false, message: "This page cannot change anything." };
  return resultOf(source, await source.post(`/api/v1/findings:${method}`, body));
}
