// SPDX-License-Identifier: BSD-3-Clause
// The telemetry sources with their ledgers, and the health of the appliance.
import type { Health, ListSourcesResponse, Source } from "../api/messages";
import { relative, utcFull } from "../format/moments";
import { count, duration } from "../format/quantities";
import { enumWords } from "../format/words";
import { Await, Notice, Truncated } from "../parts/await";
import { Export } from "../parts/export";
import type { ExportColumn } from "../parts/export_file";
import { Tag } from "../parts/names";
import { useApplianceReference } from "../parts/reference";
import { choose, type Route } from "../parts/route";
import { SourceCard } from "../sources/source_card";
import { kSourceStates, matchesSource, sourceState, worstSourcesFirst } from "../sources/source_state";
import { useResource } from "../store/use_store";

export const kHealthWords: Record<Health["state"], [string, string]> = {
  STATE_SERVING: ["met", "serving"],
  STATE_WAITING: ["waiting", "waiting for the first telemetry"],
  STATE_DEGRADED: ["at_risk", "degraded"],
  STATE_UNSPECIFIED: ["no_data", "unknown"],
};

const kExported: ExportColumn<Source>[] = [
  { title: "name", value: (source) => source.name },
  { title: "kind", value: (source) => enumWords(source.kind) },
  { title: "state", value: sourceState },
  { title: "received", value: (source) => source.ledger?.received },
  { title: "decoded", value: (source) => source.ledger?.decoded },
  { title: "bytes", value: (source) => source.bytes },
  { title: "missed frames", value: (source) => source.missed_frames },
  { title: "records", value: (source) => source.records },
  { title: "dropped records", value: (source) => source.dropped_records },
  { title: "last arrival", value: (source) => source.last_arrival_time },
  { title: "error", value: (source) => source.error },
];

function HealthFacts({ health }: { health: Health }) {
  const reference = useApplianceReference();
  const { snapshot } = health;
  const [kind, text] = kHealthWords[health.state] ?? ["no_data", enumWords(health.state)];
  return (
    <>
      {[...health.problems, ...health.external_problems].map((problem) => <Notice key={problem} kind="caution" title={problem} />)}
      <dl class="facts">
        <div><dt>state</dt><dd><Tag kind={kind} text={text} /></dd></div>
        <div><dt>version</dt><dd>{health.version}</dd></div>
        <div><dt>started</dt><dd title={utcFull(health.start_time)}>{relative(health.start_time, reference)}</dd></div>
        <div><dt>last analysis pass</dt><dd>{snapshot ? duration(health.analysis_duration) : "none yet"}</dd></div>
        <div><dt>snapshot version</dt><dd>{snapshot?.version ?? "0"}</dd></div>
        <div><dt>data until</dt><dd>{snapshot ? utcFull(snapshot.data_time) : "–"}</dd></div>
        <div><dt>analysis window</dt><dd>{snapshot ? duration(snapshot.window_duration) : "–"}</dd></div>
        <div><dt>topology</dt><dd>{health.has_topology ? "configured" : "not configured: no paths, no diagnosis"}</dd></div>
      </dl>
    </>
  );
}

function SourceFilter({ route, shown, total }: { route: Route; shown: number; total: number }) {
  const { state = "", text = "" } = route.query;
  return (
    <div class="filter" role="search" aria-label="Filter of sources">
      <label>
        state{" "}
        <select value={state} onChange={(event) => choose(route, { state: event.currentTarget.value })}>
          <option value="">all</option>
          {kSourceStates.map(([name]) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
      <label>
        text{" "}
        <input type="search" value={text} placeholder="source, kind, host" autocomplete="off" onInput={(event) => choose(route, { text: event.currentTarget.value })} />
      </label>
      <span class="muted" role="status">{count(shown)} of {count(total)}</span>
      {(state || text) && <button type="button" onClick={() => choose(route, { state: "", text: "" })}>Clear</button>}
    </div>
  );
}

function SourceList({ route, theme, sources }: { route: Route; theme: string; sources: Source[] }) {
  const shown = worstSourcesFirst(sources.filter((source) => matchesSource(source, route.query)));
  return (
    <>
      <SourceFilter route={route} shown={shown.length} total={sources.length} />
      {shown.length === 0 && <Notice kind="empty" title="No source matches the filter." />}
      <div class="cards">
        {shown.map((source) => <SourceCard key={source.name} source={source} theme={theme} />)}
      </div>
      <div class="table-foot"><Export name="Sources" columns={kExported} rows={shown} /></div>
    </>
  );
}

export function SourcesView({ route, theme }: { route: Route; theme: string }) {
  const health = useResource<Health>("/api/v1/health");
  const sources = useResource<ListSourcesResponse>("/api/v1/sources");
  return (
    <>
      <h1>Sources</h1>
      <Await resource={health} what="health">{(value) => <HealthFacts health={value} />}</Await>
      <Await resource={sources} what="sources">
        {(value) => value.sources.length === 0 ? (
          <Notice kind="caution" title="No sources are configured, so the appliance receives no telemetry." />
        ) : (
          <>
            <SourceList route={route} theme={theme} sources={value.sources} />
            <Truncated shown={value.sources.length} total={value.total_size} />
          </>
        )}
      </Await>
    </>
  );
}
