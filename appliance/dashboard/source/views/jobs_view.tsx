// SPDX-License-Identifier: BSD-3-Clause
// The table of all jobs, or the details of the job that the URL names.
import type { JobSummary, ListJobsResponse } from "../api/job_messages";
import type { GetServiceLevelsResponse } from "../api/messages";
import type { Reference } from "../format/moments";
import { bytes, count, duration } from "../format/quantities";
import { kIdentities, kServiceStates, words } from "../format/words";
import { IndicatorTable } from "../jobs/service_tables";
import { Await, Notice } from "../parts/await";
import { Moment, Tag } from "../parts/names";
import { useReference } from "../parts/reference";
import { hrefOfJob, type Route } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { useResource } from "../store/use_store";
import { JobView } from "./job_view";

function columnsOf(reference: Reference): Column<JobSummary>[] {
  return [
    {
      title: "job",
      cell: (job) => (
        <>
          <a class="name" href={hrefOfJob(job.id)} data-item="">{job.allocation?.name || job.id}</a>
          {job.allocation?.name && <span class="muted"> {job.allocation.user} {job.allocation.id}</span>}
        </>
      ),
      sort: (job) => job.allocation?.name || job.id,
    },
    {
      title: "faults that affect it",
      cell: (job) => (job.findings.length === 0 ? <span class="muted">none known</span> : (
        job.findings.map((sentence) => <p key={sentence} class="fault-line">{sentence}</p>)
      )),
      sort: (job) => -job.findings.length,
    },
    { title: "straggler", cell: (job) => (job.straggler ? <span class="name">{job.straggler}</span> : <span class="muted">none</span>), sort: (job) => job.straggler },
    { title: "service", cell: (job) => <Tag kind={job.service} text={kServiceStates[job.service] ?? job.service} />, sort: (job) => job.service },
    { title: "ranks", numeric: true, cell: (job) => (job.ranks === 0 ? "–" : job.ranks_with_log < job.ranks ? `${job.ranks_with_log} of ${job.ranks}` : count(job.ranks)), sort: (job) => job.ranks, hint: "observed ranks, of all ranks" },
    { title: "hosts", numeric: true, cell: (job) => count(job.hosts), sort: (job) => job.hosts },
    { title: "iteration", numeric: true, cell: (job) => (job.period_ns === "0" ? "–" : duration(job.period_ns)), sort: (job) => Number(job.period_ns), hint: "iteration period, inferred from traffic" },
    { title: "collectives", cell: (job) => job.collectives.map(words).join(", ") || "–" },
    { title: "data", numeric: true, cell: (job) => bytes(job.bytes), sort: (job) => Number(job.bytes) },
    { title: "last seen", cell: (job) => <Moment ns={job.last_seen_ns} reference={reference} />, sort: (job) => Number(job.last_seen_ns) },
    { title: "identified by", cell: (job) => kIdentities[job.identity] ?? job.identity },
  ];
}

function JobList() {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs?page_size=1000");
  const levels = useResource<GetServiceLevelsResponse>("/api/v1/service-levels");
  const reference = useReference();
  return (
    <>
      <h1>Jobs</h1>
      <Await resource={jobs} what="jobs">
        {(value) => value.jobs.length === 0 ? (
          <Notice kind="empty" title="No known jobs.">
            Neither logs nor the scheduler report a job, and no NICs send synchronised traffic.
          </Notice>
        ) : (
          <>
            <Table caption="Jobs" columns={columnsOf(reference)} rows={value.jobs} keyOf={(job) => job.id}
              rowClass={(job) => (job.findings.length > 0 ? "row-fault" : "")} />
            {value.next_page_token && <p>Only the first {count(value.jobs.length)} jobs are shown.</p>}
          </>
        )}
      </Await>
      <section aria-labelledby="service-title">
        <h2 id="service-title">Service levels of all jobs</h2>
        <Await resource={levels} what="service levels">
          {(value) => <IndicatorTable answer={value} />}
        </Await>
      </section>
    </>
  );
}

export function JobsView({ route, theme }: { route: Route; theme: string }) {
  return route.name ? <JobView id={route.name} theme={theme} /> : <JobList />;
}
