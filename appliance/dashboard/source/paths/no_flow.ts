// SPDX-License-Identifier: BSD-3-Clause
// The text in place of the flows between two ends that are known. A file cannot state that there was no
// traffic, because it contains only the flows of jobs, and not more than 20,000 of each.
export function noFlowText(isLive: boolean): string {
  return isLive
    ? "No flow between these two ends was observed."
    : "This file contains no flow between these two ends. It contains only the flows of jobs.";
}
