// SPDX-License-Identifier: BSD-3-Clause
// The paths between two ends, or the busiest pairs of a job. Without a selection: of the job with the most
// problems.
import { useMemo } from "preact/hooks";
import type { FindPathsResponse, JobSummary, ListJobsResponse, Topology } from "../api/messages";
import { kMaxPageSize } from "../api/whole_list";
import { bytes, count, plural } from "../format/quantities";
import { byTrouble, jobTitle, jobTrouble } from "../jobs/trouble";
import { Await, Notice } from "../parts/await";
import { NameInput, type Name } from "../parts/name_input";
import { JobLink, MapLink, Place } from "../parts/names";
import { offersView, useSource } from "../parts/offered";
import { useReference } from "../parts/reference";
import { choose, href, tableInUrl, type Route } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { pairsOf, type Pair } from "../paths/pairs";
import { noFlowText } from "../paths/no_flow";
import { PathTable } from "../paths/path_table";
import { useResource } from "../store/use_store";

function endsOf(topology: Topology | undefined): Name[] {
  return (topology?.nodes ?? []).flatMap((node) => [
    ...node.gpus.map((gpu) => ({ value: `${node.name}:gpu:${gpu.index}` })),
    ...node.nics.map((nic) => ({ value: `${node.name}:${nic.device}`, hint: nic.addresses[0] })),
  ]);
}

function PathForm({ route, jobs }: { route: Route; jobs: JobSummary[] }) {
  const topology = useResource<Topology>("/api/v1/topology");
  const ends = useMemo(() => endsOf(topology.value), [topology.value]);
  const jobNames = useMemo(() => jobs.map((job): Name => ({ value: job.job_id, hint: job.allocation?.name })), [jobs]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const of = (name: string) => String(form.get(name) ?? "").trim();
    choose(route, { source: of("source"), destination: of("destination"), job: of("job") });
  };
  const { source = "", destination = "", job = "" } = route.query;
  return (
    <form class="path-form" onSubmit={submit}>
      <NameInput key={`s${source}`} label="From" name="source" names={ends} value={source} placeholder="host0:gpu:0" />
      <NameInput key={`d${destination}`} label="to" name="destination" names={ends} value={destination} placeholder="host3:mlx5_0" />
      <NameInput key={`j${job}`} label="of job" name="job" names={jobNames} value={job} placeholder="any" />
      <button type="submit">Show paths</button>
      <p class="muted">
        An end is a GPU (HOST:gpu:NUMBER), a NIC (HOST:DEVICE), an IP address, or a rank if a job is given. A job without ends shows its busiest pairs.
      </p>
    </form>
  );
}

// The appliance expects ranks as the ends if a job is given, so the links name only the NICs.
function pairColumns(): Column<Pair>[] {
  return [
    { title: "from", cell: (pair) => <Place name={pair.source} />, sort: (pair) => pair.source },
    { title: "to", cell: (pair) => <Place name={pair.destination} />, sort: (pair) => pair.destination },
    { title: "data", numeric: true, unit: "B", cell: (pair) => bytes(pair.bytes), sort: (pair) => pair.bytes },
    { title: "flows", numeric: true, cell: (pair) => count(pair.flows), sort: (pair) => pair.flows },
    { title: "uncertain paths", numeric: true, hint: "flows whose path is ambiguous, stray or unknown", cell: (pair) => count(pair.unsureFlows), sort: (pair) => pair.unsureFlows },
    { title: "path changes", numeric: true, cell: (pair) => count(pair.changes), sort: (pair) => pair.changes },
    {
      title: "show",
      cell: ({ source, destination }) => (
        <>
          <a data-item="" href={href("paths", { source, destination })} aria-label={`Paths from ${source} to ${destination}`}>paths</a>{" "}
          <MapLink from={source} to={destination} text="map" label={`Map of ${source} to ${destination}`} />
        </>
      ),
      value: () => undefined,
    },
  ];
}

function BusiestPairs({ route, job, summary, isDefault }: { route: Route; job: string; summary?: JobSummary; isDefault: boolean }) {
  const query = new URLSearchParams({ job_id: job, page_size: String(kMaxPageSize) });
  const answer = useResource<FindPathsResponse>(`/api/v1/paths?${query}`);
  const pairs = useMemo(() => pairsOf(answer.value?.paths ?? []), [answer.value]);
  const title = summary ? jobTitle(summary) : job;
  const why = summary && jobTrouble(summary) > 0 ? "the job with the most problems" : "the largest job";
  return (
    <section aria-labelledby="pairs-title">
      <h2 id="pairs-title">Busiest pairs of <JobLink id={job} label={title} />{isDefault && <span class="muted">, {why}</span>}</h2>
      <Await resource={answer} what="paths">
        {(value) => value.paths.length === 0 ? <Notice kind="empty" title="No flow of this job was observed." /> : (
          <>
            {value.paths.length < value.total_size && <p>Only {count(value.paths.length)} of {plural(value.total_size, "flow")} are loaded.</p>}
            <Table caption="Busiest pairs" columns={pairColumns()} rows={pairs} most={40} file={`Pairs of ${title}`} {...tableInUrl(route)}
              keyOf={(pair) => `${pair.source} ${pair.destination}`} />
          </>
        )}
      </Await>
    </section>
  );
}

function OtherJobs({ jobs, shown }: { jobs: JobSummary[]; shown: string }) {
  const others = jobs.filter((job) => job.job_id !== shown).slice(0, 12);
  if (others.length === 0) return null;
  return (
    <p>
      Other jobs:{" "}
      {others.map((job, i) => <>{i > 0 && ", "}<a key={job.job_id} class="name" href={href("paths", { job: job.job_id })}>{jobTitle(job)}</a></>)}
    </p>
  );
}

function PathsOfEnds({ route, source, destination, job }: { route: Route; source: string; destination: string; job: string }) {
  const query = new URLSearchParams({ source, destination, ...(job && { job_id: job }), page_size: String(kMaxPageSize) });
  const answer = useResource<FindPathsResponse>(`/api/v1/paths?${query}`);
  const reference = useReference();
  const isLive = useSource()?.live ?? true;
  return (
    <Await resource={answer} what="paths">
      {(value) => (
        <>
          {value.paths.length === 0 && <Notice kind="empty" title={noFlowText(isLive)} />}
          {value.paths.length > 0 && (
            <p>
              {value.paths.length < value.total_size ? `${count(value.paths.length)} of ${plural(value.total_size, "flow")}` : plural(value.total_size, "flow")}.{" "}
              <MapLink from={source} to={destination} text="On the map" />{" "}
              <a href={href("paths", { source: destination, destination: source, job })}>Reverse direction</a>
            </p>
          )}
          <PathTable paths={value.paths} reference={reference} job={job} file={`Paths from ${source} to ${destination}`} state={tableInUrl(route)} />
        </>
      )}
    </Await>
  );
}

export function PathsView({ route }: { route: Route }) {
  const { source = "", destination = "", job = "" } = route.query;
  const answer = useResource<ListJobsResponse>("/api/v1/jobs");
  const jobs = useMemo(() => byTrouble(answer.value?.jobs ?? []), [answer.value]);
  const shown = job || jobs[0]?.job_id || "";
  const isAnyEndMissing = !source || !destination;
  const hasMap = offersView(useSource(), "fabric");
  const summary = jobs.find((candidate) => candidate.job_id === shown || candidate.allocation?.name === shown);
  return (
    <>
      <h1>Paths</h1>
      <PathForm route={route} jobs={jobs} />
      {isAnyEndMissing && (source || destination) && <Notice kind="caution" title="Enter the other end too." />}
      {!isAnyEndMissing && <PathsOfEnds route={route} source={source} destination={destination} job={job} />}
      {isAnyEndMissing && !shown && (
        <Await resource={answer} what="jobs">
          {() => (
            <Notice kind="empty" title="No job is known, so there are no pairs to show.">
              Enter two ends{hasMap && <>, or select two hosts on the <a href={href("fabric")}>map</a></>}.
            </Notice>
          )}
        </Await>
      )}
      {isAnyEndMissing && shown && (
        <>
          <BusiestPairs key={shown} route={route} job={shown} summary={summary} isDefault={!job} />
          <OtherJobs jobs={jobs} shown={summary?.job_id ?? shown} />
        </>
      )}
    </>
  );
}
