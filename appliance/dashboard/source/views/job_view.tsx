// SPDX-License-Identifier: BSD-3-Clause
// The details of a job.
import type {
  FindPathsResponse, GetJobResponse, ListServiceLevelsResponse, Job, JobSummary, ListHotspotsResponse,
} from "../api/messages";
import { bytes, count, duration, plural } from "../format/quantities";
import { enumName, identityText, serviceStateText } from "../format/words";
import { HotspotList } from "../hotspots/hotspot_list";
import { EdgeMatrix } from "../jobs/edge_matrix";
import { RankTable } from "../jobs/rank_table";
import { IterationPatternLanes } from "../jobs/iteration_pattern_lanes";
import { JobLevels, jobLevelsPath } from "../jobs/service_tables";
import { Await } from "../parts/await";
import { Moment, Tag } from "../parts/names";
import { useReference } from "../parts/reference";
import { href } from "../parts/route";
import { PathList } from "../paths/path_list";
import { useResource } from "../store/use_store";

function JobHead({ job, summary }: { job: Job; summary?: JobSummary }) {
  const reference = useReference();
  return (
    <>
      <h1>{summary?.allocation?.name || job.job_id}</h1>
      <dl class="facts">
        <div><dt>id</dt><dd class="name">{job.job_id}</dd></div>
        <div><dt>identified by</dt><dd>{identityText(job.identity)}</dd></div>
        {job.allocation && <div><dt>scheduler job ID, user</dt><dd>{job.allocation.scheduler_job_id}, {job.allocation.user || "–"}</dd></div>}
        <div><dt>ranks observed</dt><dd>{job.expected_rank_count === 0 ? "ranks unknown" : `${count(job.logged_rank_count)} of ${count(job.expected_rank_count)}`}</dd></div>
        {summary && (
          <>
            <div><dt>hosts</dt><dd>{count(summary.host_count)}</dd></div>
            <div><dt>data</dt><dd>{bytes(summary.bytes)}</dd></div>
            <div><dt>iteration</dt><dd>{summary.iteration_period === undefined ? "not detected" : `${duration(summary.iteration_period)}, ${count(summary.iteration_count)} observed`}</dd></div>
            <div><dt>straggler</dt><dd>{summary.straggler || "none"}</dd></div>
            <div><dt>service level</dt><dd><Tag kind={enumName(summary.service_level_state)} text={serviceStateText(summary.service_level_state)} /></dd></div>
            <div><dt>last data</dt><dd><Moment time={summary.last_seen_time} reference={reference} /></dd></div>
          </>
        )}
      </dl>
      {summary?.finding_sentences.map((sentence) => (
        <p key={sentence} class="fault-line"><a href={href("findings")}>{sentence}</a></p>
      ))}
      {job.notes.map((note) => <p key={note} class="muted">{note}</p>)}
    </>
  );
}

const kHotspotsShown = 8;
const kPathsShown = 12;

export function JobView({ id, theme }: { id: string; theme: string }) {
  const job = encodeURIComponent(id);
  const answer = useResource<GetJobResponse>(`/api/v1/jobs/${job}`);
  const hotspots = useResource<ListHotspotsResponse>(`/api/v1/hotspots?job_id=${job}&page_size=${kHotspotsShown}`);
  const paths = useResource<FindPathsResponse>(`/api/v1/paths?job_id=${job}&page_size=${kPathsShown}`);
  const levels = useResource<ListServiceLevelsResponse>(jobLevelsPath(id));
  const reference = useReference();
  return (
    <>
      <p><a href={href("jobs")}>All jobs</a></p>
      <Await resource={answer} what="job">
        {({ job: found, summary }) => found && (
          <>
            <JobHead job={found} summary={summary} />
            <section aria-labelledby="iteration-title">
              <h2 id="iteration-title">Iteration</h2>
              {found.iteration_pattern ? <IterationPatternLanes pattern={found.iteration_pattern} reference={reference} /> : (
                <p class="muted">No iteration period detected: there are too few iterations, or they are not similar.</p>
              )}
            </section>
            <section aria-labelledby="edges-title">
              <h2 id="edges-title">Traffic between ranks</h2>
              <EdgeMatrix job={found} theme={theme} />
            </section>
            <section aria-labelledby="ranks-title">
              <h2 id="ranks-title">Ranks</h2>
              <RankTable job={found} />
            </section>
            <section aria-labelledby="levels-title">
              <h2 id="levels-title">Service levels</h2>
              <Await resource={levels} what="service levels">
                {(value) => <JobLevels answer={value} />}
              </Await>
            </section>
          </>
        )}
      </Await>
      {answer.value && (
        <>
          <section aria-labelledby="hotspots-title">
            <h2 id="hotspots-title">Hotspots that delay this job</h2>
            <Await resource={hotspots} what="hotspots">
              {(value) => value.hotspots.length === 0 ? <p>No known hotspots.</p> : (
                <>
                  <HotspotList hotspots={value.hotspots.slice(0, kHotspotsShown)} reference={reference} />
                  {kHotspotsShown < value.total_size && (
                    <p><a href={href("hotspots", { job: id })}>All {count(value.total_size)}</a></p>
                  )}
                </>
              )}
            </Await>
          </section>
          <section aria-labelledby="paths-title">
            <h2 id="paths-title">Flow paths</h2>
            <Await resource={paths} what="paths">
              {(value) => (
                <>
                  <p><a href={href("paths", { job: id })}>All: {plural(value.total_size, "flow")}</a></p>
                  <PathList paths={value.paths.slice(0, kPathsShown)} reference={reference} />
                </>
              )}
            </Await>
          </section>
        </>
      )}
    </>
  );
}
