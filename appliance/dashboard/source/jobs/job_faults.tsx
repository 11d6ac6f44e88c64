// SPDX-License-Identifier: BSD-3-Clause
// The faults that affect a job, as links to the finding and to its place.
import type { Finding, JobSummary, ListFindingsResponse } from "../api/messages";
import { Place } from "../parts/names";
import { href } from "../parts/route";
import { useResource } from "../store/use_store";

// The latest finding of this kind at this place.
export function hrefOfFault({ kind, place }: Finding): string {
  return href("findings", {}, `${kind}~${place}`);
}

export function JobFaults({ summary }: { summary: JobSummary }) {
  const findings = useResource<ListFindingsResponse>("/api/v1/findings").value?.findings ?? [];
  return (
    <>
      {summary.finding_sentences.map((sentence) => {
        const finding = findings.find((candidate) => candidate.sentence === sentence);
        return (
          <p key={sentence} class="fault-line">
            <a href={finding ? hrefOfFault(finding) : href("findings")}>{sentence}</a>
            {finding && <span class="muted"> at <Place name={finding.place} /></span>}
          </p>
        );
      })}
    </>
  );
}
