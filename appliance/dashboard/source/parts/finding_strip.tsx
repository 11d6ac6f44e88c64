// SPDX-License-Identifier: BSD-3-Clause
// The current faults, one sentence each, at the top of the fabric view.
import type { ListFindingsResponse } from "../api/messages";
import { percent } from "../format/quantities";
import { useResource } from "../store/use_store";
import { hrefOfFinding } from "../findings/finding_id";
import { nothingFound } from "../findings/coverage";
import { FindingState, isOngoing } from "../findings/finding_state";
import { splitMuted } from "../findings/review";
import { worstFirst } from "../findings/severity";
import { SeverityTag } from "../findings/severity_tag";
import { Absence } from "./await";
import { href } from "./route";

const kShown = 3;

export function FindingStrip() {
  const answer = useResource<ListFindingsResponse>("/api/v1/findings");
  const value = answer.value;
  if (!value) return <Absence resource={answer} what="findings" />;
  if (value.findings.length === 0) {
    const { title } = nothingFound(value.coverage);
    return <p class="strip-calm">{title} <a href={href("findings")}>Telemetry coverage</a></p>;
  }
  const { alerting, muted } = splitMuted(value.findings);
  return (
    <section class={alerting.some(isOngoing) ? "strip" : "strip strip-resolved"} aria-label="Faults">
      {[...alerting.sort(worstFirst), ...muted].slice(0, kShown).map((finding) => (
        <a key={finding.sentence} href={hrefOfFinding(finding)} data-item="">
          <SeverityTag finding={finding} />
          <FindingState finding={finding} />
          <span>{finding.sentence}</span>
          {finding.mute && <span class="muted">muted</span>}
          <span class="muted">confidence {percent(finding.confidence)}</span>
        </a>
      ))}
      {value.findings.length > kShown && (
        <a href={href("findings")}>{value.total_size - kShown} more faults</a>
      )}
    </section>
  );
}
