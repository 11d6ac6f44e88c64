// SPDX-License-Identifier: BSD-3-Clause
// The details of a job. The tab is in the URL.
import type { ComponentChildren } from "preact";
import type {
  FindPathsResponse, GetJobResponse, ListServiceLevelsResponse, Job, JobSummary, ListHotspotsResponse,
} from "../api/messages";
import { kMaxPageSize } from "../api/whole_list";
import { bytes, count, duration, plural } from "../format/quantities";
import { enumName, identityText, serviceStateText } from "../format/words";
import { JobHistory } from "../history/job_history";
import { HotspotTable } from "../hotspots/hotspot_table";
import { EdgeMatrix } from "../jobs/edge_matrix";
import { JobFaults } from "../jobs/job_faults";
import { RankTable } from "../jobs/rank_table";
import { IterationPatternLanes } from "../jobs/iteration_pattern_lanes";
import { JobLevels, jobLevelsPath } from "../jobs/service_tables";
import { rankStates } from "../jobs/trouble";
import { Await, Notice } from "../parts/await";
import { Moment, Place, Tag } from "../parts/names";
import { offersView, useSource } from "../parts/offered";
import { useReference } from "../parts/reference";
import { choose, href, orderInUrl, tableInUrl, type Route } from "../parts/route";
import { Tabs } from "../parts/tabs";
import { Present } from "../past/past_view";
import { PathTable } from "../paths/path_table";
import { useResource } from "../store/use_store";

const kTabs = [
  { name: "", title: "Overview" },
  { name: "ranks", title: "Ranks" },
  { name: "collectives", title: "Collectives" },
  { name: "paths", title: "Paths" },
  { name: "levels", title: "Service levels" },
  { name: "history", title: "History" },
] as const;

const kRanksShown = 5;

interface TabProps {
  job: Job;
  summary?: JobSummary;
  title: string;
  route: Route;
  theme: string;
}

function Facts({ job, summary }: { job: Job; summary?: JobSummary }) {
  const reference = useReference();
  return (
    <dl class="facts">
      <div><dt>service level</dt><dd>{summary && <Tag kind={enumName(summary.service_level_state)} text={serviceStateText(summary.service_level_state)} />}</dd></div>
      {summary && <div><dt>iteration</dt><dd>{summary.iteration_period === undefined ? "not detected" : `${duration(summary.iteration_period)}, ${count(summary.iteration_count)} observed`}</dd></div>}
      {summary && <div><dt>straggler</dt><dd>{summary.straggler ? <Place name={summary.straggler} /> : "none"}</dd></div>}
      <div><dt>ranks observed</dt><dd>{job.expected_rank_count === 0 ? "ranks unknown" : `${count(job.logged_rank_count)} of ${count(job.expected_rank_count)}`}</dd></div>
      {summary && <div><dt>hosts</dt><dd>{count(summary.host_count)}</dd></div>}
      {summary && <div><dt>data</dt><dd>{bytes(summary.bytes)}</dd></div>}
      {summary && <div><dt>last data</dt><dd><Moment time={summary.last_seen_time} reference={reference} /></dd></div>}
      {job.allocation && <div><dt>scheduler job ID, user</dt><dd>{job.allocation.scheduler_job_id}, {job.allocation.user || "–"}</dd></div>}
      <div><dt>identified by</dt><dd>{identityText(job.identity)}</dd></div>
      <div><dt>id</dt><dd class="name">{job.job_id}</dd></div>
    </dl>
  );
}

function Section({ id, title, children }: { id: string; title: string; children: ComponentChildren }) {
  return (
    <section aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

function OverviewTab({ job, summary, title, route }: TabProps) {
  const query = new URLSearchParams({ job_id: job.job_id, page_size: String(kMaxPageSize) });
  const hotspots = useResource<ListHotspotsResponse>(`/api/v1/hotspots?${query}`);
  const reference = useReference();
  const troubled = rankStates(job).filter(({ troubles }) => troubles.length > 0);
  return (
    <>
      <Facts job={job} summary={summary} />
      {job.notes.map((note) => <p key={note} class="muted">{note}</p>)}
      <Section id="ranks" title="Ranks with problems">
        {troubled.length === 0 ? <p>None is known: no rank waits, retransmits or has CE marks.</p> : (
          <RankTable job={{ ...job, ranks: troubled.map(({ rank }) => rank) }} title={title} most={kRanksShown} />
        )}
        <p><a href={href("jobs", { tab: "ranks" }, job.job_id)}>All {plural(job.ranks.length, "rank")}</a></p>
      </Section>
      <Section id="hotspots" title="Hotspots that delay this job">
        <Await resource={hotspots} what="hotspots">
          {(value) => value.hotspots.length === 0 ? <p>No known hotspots.</p> : (
            <>
              <HotspotTable hotspots={value.hotspots} reference={reference} file={`Hotspots of ${title}`} job={job.job_id} most={8} state={orderInUrl(route)} />
              <p><a href={href("hotspots", { job: job.job_id })}>All hotspots of this job, with filters</a></p>
            </>
          )}
        </Await>
      </Section>
    </>
  );
}

function RanksTab({ job, title, route, theme }: TabProps) {
  return (
    <>
      <RankTable job={job} title={title} state={tableInUrl(route)} />
      <Section id="edges" title="Traffic between ranks"><EdgeMatrix job={job} theme={theme} /></Section>
    </>
  );
}

function CollectivesTab({ job }: TabProps) {
  const reference = useReference();
  if (job.iteration_pattern) return <IterationPatternLanes pattern={job.iteration_pattern} reference={reference} />;
  return (
    <Notice kind="empty" title="No iteration period detected">
      There are too few iterations, or they are not similar. Collectives are inferred from traffic that repeats.
    </Notice>
  );
}

function PathsTab({ job, title, route }: TabProps) {
  const { rank = "" } = route.query;
  const query = new URLSearchParams({ job_id: job.job_id, page_size: String(kMaxPageSize) });
  const answer = useResource<FindPathsResponse>(`/api/v1/paths?${query}`);
  const reference = useReference();
  const rankByAddress = new Map(job.ranks.flatMap((one) => one.addresses.map((address) => [address, one.rank] as const)));
  const rankOf = (address: string) => rankByAddress.get(address);
  const numbers = job.ranks.flatMap((one) => (one.rank === undefined ? [] : [one.rank])).sort((a, b) => a - b);
  return (
    <Await resource={answer} what="paths">
      {(value) => {
        const shown = value.paths.filter((path) => !rank || String(rankOf(path.source)) === rank || String(rankOf(path.destination)) === rank);
        return (
          <>
            <div class="filters">
              <label>
                Rank
                <select value={rank} onChange={(event) => choose(route, { rank: event.currentTarget.value })}>
                  <option value="">all</option>
                  {numbers.map((number) => <option key={number} value={String(number)}>{number}</option>)}
                </select>
              </label>
              <p role="status">
                {shown.length === value.total_size ? plural(shown.length, "flow") : `${count(shown.length)} of ${plural(value.total_size, "flow")}`}
                {value.paths.length < value.total_size && `; only the first ${count(value.paths.length)} are loaded`}
              </p>
              <p><a href={href("paths", { job: job.job_id })}>Pairs of this job</a></p>
            </div>
            {shown.length === 0 && (
              <Notice kind="empty" title={rank ? `No flow of rank ${rank} was observed.` : "No flow of this job was observed."} />
            )}
            <PathTable paths={shown} reference={reference} job={job.job_id} rankOf={rankOf} file={`Paths of ${title}`} state={tableInUrl(route)} />
          </>
        );
      }}
    </Await>
  );
}

function LevelsTab({ job }: TabProps) {
  const levels = useResource<ListServiceLevelsResponse>(jobLevelsPath(job.job_id));
  return (
    <Await resource={levels} what="service levels">
      {(value) => <JobLevels answer={value} />}
    </Await>
  );
}

function TabContent(props: TabProps & { tab: string }) {
  switch (props.tab) {
    case "ranks": return <RanksTab {...props} />;
    case "collectives": return <CollectivesTab {...props} />;
    case "paths": return <Present what="paths"><PathsTab {...props} /></Present>;
    case "levels": return <LevelsTab {...props} />;
    case "history": return <JobHistory {...props} job={props.job.job_id} ranks={props.job.expected_rank_count} />;
    default: return <OverviewTab {...props} />;
  }
}

export function JobView({ id, route, theme }: { id: string; route: Route; theme: string }) {
  const answer = useResource<GetJobResponse>(`/api/v1/jobs/${encodeURIComponent(id)}`);
  const source = useSource();
  // A file has no history, and has paths only with a topology.
  const tabs = kTabs.filter(({ name }) => (name !== "history" || source?.live !== false) && (name !== "paths" || offersView(source, "paths")));
  const tab = tabs.find((candidate) => candidate.name === route.query["tab"])?.name ?? "";
  return (
    <>
      <p><a href={href("jobs")}>All jobs</a></p>
      {!answer.value?.job && <h1>{id}</h1>}
      <Await resource={answer} what="job">
        {({ job, summary }) => {
          if (!job) return <Notice kind="caution" title="The appliance has no details of this job." />;
          const title = summary?.allocation?.name || job.job_id;
          return (
            <>
              <h1>{title}</h1>
              {summary && <JobFaults summary={summary} />}
              <Tabs label="Job" tabs={tabs} current={tab} hrefOf={(name) => href("jobs", { tab: name }, id)} />
              <TabContent tab={tab} job={job} summary={summary} title={title} route={route} theme={theme} />
            </>
          );
        }}
      </Await>
    </>
  );
}
