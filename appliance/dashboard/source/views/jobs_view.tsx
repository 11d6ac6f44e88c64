// SPDX-License-Identifier: BSD-3-Clause
// The table of all jobs, or the details of the job that the URL names.
import type { ListServiceLevelsResponse, JobSummary, ListJobsResponse } from "../api/messages";
import { sortKey, type Reference } from "../format/moments";
import { bytes, count, duration, toNanoseconds } from "../format/quantities";
import { enumName, enumWords, identityText, serviceStateText } from "../format/words";
import { IndicatorTable, kIndicatorsPath } from "../jobs/service_tables";
import { Await, Notice, Truncated } from "../parts/await";
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
          <a class="name" href={hrefOfJob(job.job_id)} data-item="">{job.allocation?.name || job.job_id}</a>
          {job.allocation?.name && <span class="muted"> {job.allocation.user} {job.allocation.scheduler_job_id}</span>}
        </>
      ),
      sort: (job) => job.allocation?.name || job.job_id,
    },
    {
      title: "faults that affect it",
      cell: (job) => (job.finding_sentences.length === 0 ? <span class="muted">none known</span> : (
        job.finding_sentences.map((sentence) => <p key={sentence} class="fault-line">{sentence}</p>)
      )),
      sort: (job) => -job.finding_sentences.length,
    },
    { title: "straggler", cell: (job) => (job.straggler ? <span class="name">{job.straggler}</span> : <span class="muted">none</span>), sort: (job) => job.straggler },
    { title: "service level", cell: (job) => <Tag kind={enumName(job.service_level_state)} text={serviceStateText(job.service_level_state)} />, sort: (job) => enumName(job.service_level_state) },
    { title: "ranks", numeric: true, cell: (job) => (job.expected_rank_count === 0 ? "–" : job.logged_rank_count < job.expected_rank_count ? `${job.logged_rank_count} of ${job.expected_rank_count}` : count(job.expected_rank_count)), sort: (job) => job.expected_rank_count, hint: "observed ranks, of all ranks" },
    { title: "hosts", numeric: true, cell: (job) => count(job.host_count), sort: (job) => job.host_count },
    { title: "iteration", numeric: true, cell: (job) => (job.iteration_period === undefined ? "–" : duration(job.iteration_period)), sort: (job) => toNanoseconds(job.iteration_period), hint: "iteration period, inferred from traffic" },
    { title: "collectives", cell: (job) => job.collective_kinds.map(enumWords).join(", ") || "–" },
    { title: "data", numeric: true, cell: (job) => bytes(job.bytes), sort: (job) => Number(job.bytes) },
    { title: "last seen", cell: (job) => <Moment time={job.last_seen_time} reference={reference} />, sort: (job) => sortKey(job.last_seen_time) },
    { title: "identified by", cell: (job) => identityText(job.identity) },
  ];
}

function JobList() {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  const levels = useResource<ListServiceLevelsResponse>(kIndicatorsPath);
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
            <Table caption="Jobs" columns={columnsOf(reference)} rows={value.jobs} keyOf={(job) => job.job_id}
              rowClass={(job) => (job.finding_sentences.length > 0 ? "row-fault" : "")} />
            <Truncated shown={value.jobs.length} total={value.total_size} />
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
