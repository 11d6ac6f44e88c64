// SPDX-License-Identifier: BSD-3-Clause
// Congested queues by port, sorted by the delay that they cause to jobs.
import { useMemo } from "preact/hooks";
import type { Hotspot, ListHotspotsResponse } from "../api/messages";
import { kMaxPageSize } from "../api/whole_list";
import { count, plural } from "../format/quantities";
import { enumName, words } from "../format/words";
import { matches } from "../hotspots/hotspot_groups";
import { HotspotTable } from "../hotspots/hotspot_table";
import { useJobNames } from "../jobs/job_names";
import { Await, Notice } from "../parts/await";
import { useReference } from "../parts/reference";
import { choose, orderInUrl, type Route } from "../parts/route";
import { useResource } from "../store/use_store";

function Select({ label, value, options, onChange }: {
  label: string; value: string; options: [string, string][]; onChange(value: string): void;
}) {
  return (
    <label>
      {label}
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        <option value="">all</option>
        {options.map(([name, title]) => <option key={name} value={name}>{title}</option>)}
      </select>
    </label>
  );
}

// The selected value stays selectable even if no hotspot has it any more.
function choices(values: string[], selected: string): string[] {
  return [...new Set([...values, ...(selected ? [selected] : [])])].filter(Boolean).sort();
}

function Hotspots({ answer, route }: { answer: ListHotspotsResponse; route: Route }) {
  const { cause = "", port = "", job = "", sort } = route.query;
  const reference = useReference();
  const nameOf = useJobNames();
  const shown = useMemo(() => answer.hotspots.filter((hotspot) => matches(hotspot, { cause, port })), [answer, cause, port]);
  const jobsOf = (hotspot: Hotspot) => hotspot.lost_times.map((lost) => lost.job_id);
  const causes = choices(answer.hotspots.map((hotspot) => enumName(hotspot.cause)), cause);
  const jobs = choices(answer.hotspots.flatMap(jobsOf), job);
  return (
    <>
      <div class="filters">
        <Select label="Cause" value={cause} options={causes.map((name) => [name, words(name)])} onChange={(value) => choose(route, { cause: value })} />
        <Select label="Delayed job" value={job} options={jobs.map((id) => [id, nameOf(id)])} onChange={(value) => choose(route, { job: value })} />
        <label>
          Port contains
          <input type="search" value={port} placeholder="leaf1" onInput={(event) => choose(route, { port: event.currentTarget.value })} />
        </label>
        {(cause || job || port) && <button type="button" onClick={() => choose(route, { cause: "", job: "", port: "" })}>Clear filters</button>}
        <p role="status">
          {shown.length === answer.total_size ? plural(shown.length, "hotspot") : `${count(shown.length)} of ${plural(answer.total_size, "hotspot")}`}
          {answer.hotspots.length < answer.total_size && `; only the latest ${count(answer.hotspots.length)} are loaded`}
        </p>
      </div>
      {answer.hotspots.length === 0 && (
        <Notice kind="empty" title={job ? "No congested queue that delays this job was observed." : "No congested queue was observed."}>
          On switches without counters or INT, congestion is detectable only from CE marks and delays of flows.
        </Notice>
      )}
      {answer.hotspots.length > 0 && shown.length === 0 && <Notice kind="empty" title="No hotspot matches the filters." />}
      {shown.length > 0 && (
        <HotspotTable hotspots={shown} reference={reference} file="Hotspots" job={job} state={{ ...orderInUrl(route), order: sort ?? "-cost" }} />
      )}
    </>
  );
}

export function HotspotsView({ route }: { route: Route }) {
  const { job = "" } = route.query;
  const query = new URLSearchParams({ ...(job && { job_id: job }), page_size: String(kMaxPageSize) });
  const answer = useResource<ListHotspotsResponse>(`/api/v1/hotspots?${query}`);
  return (
    <>
      <h1>Hotspots</h1>
      <Await resource={answer} what="hotspots">
        {(value) => <Hotspots answer={value} route={route} />}
      </Await>
    </>
  );
}
