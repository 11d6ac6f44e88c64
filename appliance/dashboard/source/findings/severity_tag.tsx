// SPDX-License-Identifier: BSD-3-Clause
// The severity and the state of a finding as coloured text.
import type { Finding } from "../api/messages";
import { Tag } from "../parts/names";
import { severityOf, stateOf } from "./severity";

export function SeverityTag({ finding }: { finding: Finding }) {
  const severity = severityOf(finding);
  return <Tag kind={severity} text={severity} hint="severity, from the kind, the confidence and the affected jobs" />;
}

export function StateTag({ finding }: { finding: Finding }) {
  const state = stateOf(finding);
  return <Tag kind={state} text={state} />;
}
