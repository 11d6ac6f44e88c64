// SPDX-License-Identifier: BSD-3-Clause
// The jobs that active faults affect.
import type { Finding, JobSummary } from "../api/messages";
import { count, plural } from "../format/quantities";
import { enumName, serviceStateText } from "../format/words";
import { byTrouble } from "../jobs/trouble";
import { JobLink, Tag } from "../parts/names";
import { href } from "../parts/route";

const kShown = 5;

export function JobsCard({ jobs, active }: { jobs: JobSummary[]; active: Finding[] }) {
  const faultsOf = (id: string) => active.filter((finding) => finding.affected_job_ids.includes(id)).length;
  const affected = byTrouble(jobs)
    .map((job) => ({ job, faults: faultsOf(job.job_id) }))
    .filter(({ faults }) => faults > 0)
    .sort((a, b) => b.faults - a.faults);
  return (
    <section class="card" aria-labelledby="affected-title">
      <h2 id="affected-title">Affected jobs</h2>
      {affected.length === 0 ? (
        <p>No active fault is known to affect a job. <a href={href("jobs")}>{plural(jobs.length, "job")}</a></p>
      ) : (
        <ul class="affected-jobs">
          {affected.slice(0, kShown).map(({ job, faults }) => (
            <li key={job.job_id}>
              <JobLink id={job.job_id} label={job.allocation?.name || job.job_id} />
              <span class="muted">{plural(faults, "fault")}</span>
              <Tag kind={enumName(job.service_level_state)} text={`service level: ${serviceStateText(job.service_level_state)}`} hint="the worst service level of the job, its GPUs and its NICs" />
            </li>
          ))}
          <li><a href={href("jobs")}>{affected.length > kShown ? `${count(affected.length)} affected, ` : ""}all jobs ({count(jobs.length)})</a></li>
        </ul>
      )}
    </section>
  );
}
