// SPDX-License-Identifier: BSD-3-Clause
// Whether a fault is ongoing or resolved.
import type { Finding } from "../api/messages";
import { Tag } from "../parts/names";

export function isOngoing(finding: Finding): boolean {
  return finding.end_time === undefined;
}

export function FindingState({ finding }: { finding: Finding }) {
  return isOngoing(finding) ? <Tag kind="fault" text="ongoing" /> : <Tag kind="over" text="resolved" />;
}
