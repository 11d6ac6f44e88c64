// SPDX-License-Identifier: BSD-3-Clause
// The faults that affect a job, as links to the finding and to its place.
import type { JobSummary, ListFindingsResponse } from "../api/messages";
import { hrefOfFinding } from "../findings/finding_id";
import { SeverityTag } from "../findings/severity_tag";
import { Place } from "../parts/names";
import { href } from "../parts/route";
import { useResource } from "../store/use_store";

export function JobFaults({ summary }: { summary: JobSummary }) {
  const findings = useResource<ListFindingsResponse>("/api/v1/findings").value?.findings ?? [];
  return (
    <>
      {summary.finding_sentences.map((sentence) => {
        const finding = findings.find((candidate) => candidate.sentence === sentence);
        return (
          <p key={sentence} class="fault-line">
            {finding && <><SeverityTag finding={finding} /> </>}
            <a href={finding ? hrefOfFinding(finding) : href("findings")}>{sentence}</a>
            {finding && <span class="muted"> at <Place name={finding.place} /></span>}
          </p>
        );
      })}
    </>
  );
}
