// SPDX-License-Identifier: BSD-3-Clause
// The active findings, the worst first: what is wrong, which jobs it affects, since when, what to do.
import type { Finding } from "../api/messages";
import { hrefOfFinding } from "../findings/finding_id";
import { reviewText } from "../findings/review";
import { SeverityTag } from "../findings/severity_tag";
import { shortTitle } from "../findings/titles";
import type { Reference } from "../format/moments";
import { count, percent } from "../format/quantities";
import { JobLink, Moment, Tag } from "../parts/names";
import { href } from "../parts/route";

const kShown = 4;
const kJobsShown = 4;

interface Props {
  findings: Finding[]; // sorted
  mutedCount: number; // of further findings
  jobNames: Map<string, string>;
  reference: Reference;
}

export function AffectedJobs({ finding, jobNames }: { finding: Finding; jobNames: Map<string, string> }) {
  const { affected_job_ids: ids, exposed_job_ids: exposed } = finding;
  if (ids.length === 0) {
    return <span class="muted">No affected job is known{exposed.length > 0 && `, ${count(exposed.length)} exposed`}</span>;
  }
  return (
    <span>
      Affects{" "}
      {ids.slice(0, kJobsShown).map((id, i) => <span key={id}>{i > 0 && ", "}<JobLink id={id} label={jobNames.get(id)} /></span>)}
      {ids.length > kJobsShown && ` and ${count(ids.length - kJobsShown)} more`}
    </span>
  );
}

export function ActiveFindings({ findings, mutedCount, jobNames, reference }: Props) {
  return (
    <>
      <ol class="active-findings">
        {findings.slice(0, kShown).map((finding) => (
          <li key={hrefOfFinding(finding)}>
            <span class="card-line">
              <SeverityTag finding={finding} />
              <a class="name" href={hrefOfFinding(finding)} data-item="" title={finding.sentence}><strong>{shortTitle(finding)}</strong></a>
              {finding.end_time !== undefined && <Tag kind="over" text="resolved" />}
              {finding.acknowledgement && <Tag kind="acknowledged" text="acknowledged" hint={reviewText(finding)} />}
            </span>
            <span class="card-line">
              <span>started <Moment time={finding.start_time} reference={reference} /></span>
              <AffectedJobs finding={finding} jobNames={jobNames} />
              <span class="muted">confidence {percent(finding.confidence)}</span>
            </span>
            <span class="what-to-do"><strong>Do:</strong> {finding.recommended_action}</span>
          </li>
        ))}
      </ol>
      {findings.length > kShown && (
        <p><a href={href("findings", { state: "ongoing" })}>{count(findings.length - kShown)} more active findings</a></p>
      )}
      {mutedCount > 0 && <p><a href={href("findings", { state: "ongoing", review: "muted" })}>{count(mutedCount)} muted</a></p>}
    </>
  );
}
