// SPDX-License-Identifier: BSD-3-Clause
// The table of all jobs, or the details of the job that the URL names.
import { useMemo } from "preact/hooks";
import type { ListServiceLevelsResponse, JobSummary, ListJobsResponse } from "../api/messages";
import { sortKey, type Reference } from "../format/moments";
import { bytes, count, duration, toNanoseconds } from "../format/quantities";
import { enumName, enumWords, identityText, serviceStateText } from "../format/words";
import { useWindow } from "../history/use_history";
import type { TimeWindow } from "../history/window";
import { JobSpark } from "../jobs/job_spark";
import { IndicatorTable, kIndicatorsPath } from "../jobs/service_tables";
import { byTrouble, jobTitle, jobTrouble } from "../jobs/trouble";
import { Await, Notice, Truncated } from "../parts/await";
import { Moment, Place, Tag } from "../parts/names";
import { useSource } from "../parts/offered";
import { useReference } from "../parts/reference";
import { href, hrefOfJob, tableInUrl, type Route } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { useResource } from "../store/use_store";
import { JobView } from "./job_view";

const kHistoriesShown = 24; // jobs whose history is requested

// A file has no history.
function IterationTime({ job, window, isLive }: { job: JobSummary; window?: TimeWindow; isLive: boolean }) {
  const period = job.iteration_period === undefined ? "–" : duration(job.iteration_period);
  if (!isLive) return <>{period}</>;
  return (
    <span class="spark-cell">
      <JobSpark job={job} window={window} />
      <a href={href("jobs", { tab: "history" }, job.job_id)}>
        {period}<span class="unseen">, history of {jobTitle(job)}</span>
      </a>
    </span>
  );
}

function columnsOf(reference: Reference, window: TimeWindow, top: ReadonlySet<string>, isLive: boolean): Column<JobSummary>[] {
  return [
    {
      title: "job",
      cell: (job) => (
        <>
          <a class="name" href={hrefOfJob(job.job_id)} data-item="">{jobTitle(job)}</a>
          {job.allocation?.name && <span class="muted"> {job.allocation.user} {job.allocation.scheduler_job_id}</span>}
        </>
      ),
      sort: jobTitle, search: (job) => `${job.job_id} ${job.allocation?.user ?? ""} ${job.allocation?.scheduler_job_id ?? ""}`,
    },
    { title: "service level", cell: (job) => <Tag kind={enumName(job.service_level_state)} text={serviceStateText(job.service_level_state)} />, sort: (job) => enumName(job.service_level_state) },
    {
      title: "iteration time", numeric: true, unit: "ns", hint: isLive ? "inferred from traffic; the line shows one hour, from 0" : "inferred from traffic",
      cell: (job) => <IterationTime job={job} window={top.has(job.job_id) ? window : undefined} isLive={isLive} />,
      sort: (job) => toNanoseconds(job.iteration_period),
      value: (job) => (job.iteration_period === undefined ? undefined : toNanoseconds(job.iteration_period)),
    },
    {
      title: "faults that affect it",
      cell: (job) => (job.finding_sentences.length === 0 ? <span class="muted">none known</span> : (
        job.finding_sentences.map((sentence) => <p key={sentence} class="fault-line">{sentence}</p>)
      )),
      sort: (job) => -job.finding_sentences.length, value: (job) => job.finding_sentences.join("; "),
    },
    { title: "straggler", cell: (job) => (job.straggler ? <Place name={job.straggler} /> : <span class="muted">none</span>), sort: (job) => job.straggler },
    { title: "ranks", numeric: true, cell: (job) => (job.expected_rank_count === 0 ? "–" : job.logged_rank_count < job.expected_rank_count ? `${job.logged_rank_count} of ${job.expected_rank_count}` : count(job.expected_rank_count)), sort: (job) => job.expected_rank_count, hint: "observed ranks, of all ranks" },
    { title: "hosts", numeric: true, cell: (job) => count(job.host_count), sort: (job) => job.host_count },
    { title: "collectives", cell: (job) => job.collective_kinds.map(enumWords).join(", ") || "–" },
    { title: "data", numeric: true, unit: "B", cell: (job) => bytes(job.bytes), sort: (job) => Number(job.bytes) },
    { title: "last seen", cell: (job) => <Moment time={job.last_seen_time} reference={reference} />, sort: (job) => sortKey(job.last_seen_time), value: (job) => job.last_seen_time },
    { title: "identified by", cell: (job) => identityText(job.identity) },
  ];
}

function JobList({ route }: { route: Route }) {
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  const levels = useResource<ListServiceLevelsResponse>(kIndicatorsPath);
  const reference = useReference();
  const { window } = useWindow({});
  const sorted = useMemo(() => byTrouble(jobs.value?.jobs ?? []), [jobs.value]);
  const top = useMemo(() => new Set(sorted.slice(0, kHistoriesShown).map((job) => job.job_id)), [sorted]);
  const isLive = useSource()?.live ?? true;
  const columns = useMemo(() => columnsOf(reference, window, top, isLive), [reference.nowNs, window.endS, top, isLive]);
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
            <Table caption="Jobs" columns={columns} rows={sorted} file="Jobs" keyOf={(job) => job.job_id} {...tableInUrl(route)}
              rowClass={(job) => (jobTrouble(job) > 0 ? "row-fault" : "")} />
            <Truncated shown={value.jobs.length} total={value.total_size} />
          </>
        )}
      </Await>
      {jobs.status !== "waiting" && ( // the table of jobs would move it down
        <section aria-labelledby="service-title">
          <h2 id="service-title">Service levels of all jobs</h2>
          <Await resource={levels} what="service levels">
            {(value) => <IndicatorTable answer={value} />}
          </Await>
        </section>
      )}
    </>
  );
}

export function JobsView({ route, theme }: { route: Route; theme: string }) {
  return route.name ? <JobView id={route.name} route={route} theme={theme} /> : <JobList route={route} />;
}
