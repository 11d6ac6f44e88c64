// SPDX-License-Identifier: BSD-3-Clause
// The selected link below the map: its faults, charts over time, and the jobs and flows that use it. The
// charts come first because their height is known while they load.
import { useState } from "preact/hooks";
import type { FindPathsResponse, Finding, GetDependenciesResponse, GetJobResponse } from "../api/messages";
import { hrefOfFinding } from "../findings/finding_id";
import { FindingState } from "../findings/finding_state";
import { count, percent, plural } from "../format/quantities";
import { LinkHistory } from "../history/link_history";
import { useJobNames } from "../jobs/job_names";
import { Await } from "../parts/await";
import { JobLink } from "../parts/names";
import { useSource } from "../parts/offered";
import { useReference } from "../parts/reference";
import { href, type Route } from "../parts/route";
import { Present } from "../past/past_view";
import { PathTable } from "../paths/path_table";
import { useResource } from "../store/use_store";
import { dependentsPath } from "./dependents";
import { linkName, type FabricLink } from "./model";

const kFlowsLoaded = 500;

// Selects the flows that use one of the ports now or used it before.
export function flowsPath(job: string, ports: string[]): string {
  const filter = ports.map((port) => `intervals.ports = "${port.replace(/["\\*]/g, "\\$&")}"`).join(" OR ");
  return `/api/v1/paths?${new URLSearchParams({ job_id: job, filter, page_size: String(kFlowsLoaded) })}`;
}

function Flows({ job, ports, name }: { job: string; ports: string[]; name: string }) {
  const answer = useResource<FindPathsResponse>(flowsPath(job, ports));
  const details = useResource<GetJobResponse>(`/api/v1/jobs/${encodeURIComponent(job)}`);
  const reference = useReference();
  const rankByAddress = new Map(details.value?.job?.ranks.flatMap((rank) => rank.addresses.map((address) => [address, rank.rank] as const)));
  return (
    <Await resource={answer} what="flows">
      {(value) => {
        // A file contains all flows of the job, because it cannot filter.
        const uses = (port: string) => ports.includes(port);
        const flows = value.paths.filter((path) => path.intervals.some((interval) => interval.ports.some(uses) || interval.shares.some((share) => uses(share.port))));
        if (flows.length === 0) return <p class="muted">No flow with a known path uses this link.</p>;
        return (
          <>
            {value.paths.length < value.total_size && <p>Only {count(value.paths.length)} of {plural(value.total_size, "flow")} are loaded.</p>}
            <PathTable paths={flows} reference={reference} job={job} rankOf={(address) => rankByAddress.get(address)} file={`Flows on ${name}`} most={20} />
          </>
        );
      }}
    </Await>
  );
}

// Only the flows of an opened job are requested.
function JobFlows({ job, ports, name, isFirst }: { job: string; ports: string[]; name: string; isFirst: boolean }) {
  const [open, setOpen] = useState(isFirst);
  const nameOf = useJobNames();
  return (
    <details class="card" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary data-item=""><strong class="name">{nameOf(job)}</strong> <span class="muted">flows on this link</span></summary>
      <p><JobLink id={job} label="Job page" /></p>
      {open && <Flows job={job} ports={ports} name={name} />}
    </details>
  );
}

const kJobsShown = 12;

function JobList({ jobs, name, ports }: { jobs: string[]; name: string; ports: string[] }) {
  return (
    <div class="cards">
      {jobs.slice(0, kJobsShown).map((job, i) => <JobFlows key={job} job={job} ports={ports} name={name} isFirst={i === 0} />)}
      {jobs.length > kJobsShown && <p class="muted">and {plural(jobs.length - kJobsShown, "job")} more</p>}
    </div>
  );
}

// From the flows of the file.
function JobsOfFile({ at, name, ports }: { at: { jobs: string[]; isComplete: boolean }; name: string; ports: string[] }) {
  return (
    <>
      {at.jobs.length > 0
        ? <JobList jobs={at.jobs} name={name} ports={ports} />
        : <p class="muted">This file contains no flow of a job with a known path on this link.</p>}
      {!at.isComplete && <p class="muted">The file does not contain all flows, so jobs can be missing here.</p>}
    </>
  );
}

function Jobs({ name, ports }: { name: string; ports: string[] }) {
  const source = useSource();
  const path = dependentsPath(name);
  const stored = source?.offers?.(path) === false ? source.jobsAt?.(ports) : undefined;
  const answer = useResource<GetDependenciesResponse>(stored ? "" : path);
  if (stored) return <JobsOfFile at={stored} name={name} ports={ports} />;
  return (
    <Await resource={answer} what="the jobs of this link">
      {({ dependency }) => {
        const jobs = dependency?.elements.find(({ kind }) => kind === "ELEMENT_KIND_JOB")?.elements ?? [];
        if (jobs.length === 0) return <p class="muted">No job with a known path uses this link.</p>;
        return <JobList jobs={jobs.map((job) => job.name)} name={name} ports={ports} />;
      }}
    </Await>
  );
}

function Faults({ findings, ports }: { findings: Finding[]; ports: string[] }) {
  return (
    <>
      {findings.length === 0 && <p class="muted">No fault of this link is known.</p>}
      {findings.map((finding) => (
        <p key={`${finding.kind} ${finding.start_time}`} class="card-line">
          <FindingState finding={finding} />
          <a href={hrefOfFinding(finding)}>{finding.sentence}</a>
          <span class="muted">confidence {percent(finding.confidence)}</span>
        </p>
      ))}
      <p>Hotspots: {ports.map((port, i) => <span key={port}>{i > 0 && ", "}<a href={href("hotspots", { port })}>{port}</a></span>)}</p>
    </>
  );
}

interface Props {
  link: FabricLink;
  findings: Finding[]; // the findings at this link
  route: Route;
  theme: string;
}

export function LinkSection({ link, findings, route, theme }: Props) {
  const name = linkName(link);
  const ports: [string, string] = [link.portA, link.portB];
  const isLive = useSource()?.live ?? true;
  return (
    <>
      <section aria-labelledby="link-faults-title">
        <h2 id="link-faults-title">Faults of <span class="name">{name}</span></h2>
        <Faults findings={findings} ports={ports} />
      </section>
      {isLive && ( // a file has no history
        <section aria-labelledby="link-history-title">
          <h2 id="link-history-title">Over time</h2>
          <LinkHistory ports={ports} name={name} route={route} theme={theme} />
        </section>
      )}
      <section aria-labelledby="link-jobs-title">
        <h2 id="link-jobs-title">Jobs and flows on this link</h2>
        <Present what="the jobs and flows of a link"><Jobs key={name} name={name} ports={ports} /></Present>
      </section>
    </>
  );
}
