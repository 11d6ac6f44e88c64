// SPDX-License-Identifier: BSD-3-Clause
// The faults, or how meaningful their absence is; or the one finding that the URL names.
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Finding, ListAnomaliesResponse, ListFindingsResponse, ListJobsResponse } from "../api/messages";
import { AnomalyList } from "../findings/anomaly_list";
import { CoveragePanel } from "../findings/coverage_panel";
import { nothingFound } from "../findings/coverage";
import { FindingPage } from "../findings/finding_page";
import { FindingTable } from "../findings/finding_table";
import { Await, Notice, Truncated } from "../parts/await";
import { useReference } from "../parts/reference";
import type { Route } from "../parts/route";
import { areWaiting, useResource, type Resource } from "../store/use_store";
import { Changes, useChanges } from "../timeline/changes";

function NothingFound({ answer }: { answer: ListFindingsResponse }) {
  const { conclusive, title, reasons } = nothingFound(answer.coverage);
  return (
    <Notice kind={conclusive ? "empty" : "caution"} title={title}>
      {reasons.map((reason) => <p key={reason}>{reason}</p>)}
    </Notice>
  );
}

function Coverage({ answer, isWanted }: { answer: ListFindingsResponse; isWanted: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isWanted) box.current?.scrollIntoView();
  }, [isWanted]);
  return <div ref={box}>{answer.coverage && <CoveragePanel coverage={answer.coverage} />}</div>;
}

function allOf(answer?: ListFindingsResponse): Finding[] {
  return answer ? [...answer.findings, ...answer.suspected_findings] : [];
}

interface ListProps {
  route: Route;
  jobs: Resource<ListJobsResponse>;
  jobNames: Map<string, string>;
}

function FindingList({ route, jobs, jobNames }: ListProps) {
  const answer = useResource<ListFindingsResponse>("/api/v1/findings");
  const anomalies = useResource<ListAnomaliesResponse>("/api/v1/anomalies");
  const findings = useMemo(() => allOf(answer.value), [answer.value]);
  const reference = useReference();
  const changes = useChanges(route, answer.value?.findings ?? []);
  if (areWaiting(answer, anomalies, jobs) || changes.isLoading) {
    return <><h1>Findings</h1><p class="loading" role="status">Loading findings …</p></>;
  }
  return (
    <>
      <h1>Findings</h1>
      <Await resource={answer} what="findings">
        {(value) => {
          const all = findings;
          return (
            <>
              {value.findings.length === 0 && <NothingFound answer={value} />}
              {all.length > 0 && <FindingTable route={route} findings={all} jobNames={jobNames} reference={reference} />}
              <Truncated shown={value.findings.length} total={value.total_size} />
              <Changes route={route} changes={changes} title="Timeline" most={{ rows: 12, events: 12 }}
                nothing="No fault was active and nothing changed in this time range." />
            </>
          );
        }}
      </Await>
      <section aria-labelledby="anomalies-title">
        <h2 id="anomalies-title">Anomalies</h2>
        <Await resource={anomalies} what="anomalies">
          {(value) => <AnomalyList answer={value} findings={findings} reference={reference} />}
        </Await>
      </section>
      {answer.value && <Coverage answer={answer.value} isWanted={route.query["show"] === "coverage"} />}
    </>
  );
}

export function FindingsView({ route }: { route: Route }) {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  const jobNames = useMemo(
    () => new Map((jobs.value?.jobs ?? []).map((job) => [job.job_id, job.allocation?.name || job.job_id])),
    [jobs.value],
  );
  if (route.name) return <FindingPage key={route.name} route={route} jobs={jobs} jobNames={jobNames} />;
  return <FindingList route={route} jobs={jobs} jobNames={jobNames} />;
}
