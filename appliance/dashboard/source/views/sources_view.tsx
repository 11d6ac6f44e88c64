// SPDX-License-Identifier: BSD-3-Clause
// Where telemetry comes from, and what became of it: the box's own health.
import type { Health, ListSourcesResponse } from "../api/messages";
import { relative, utcFull } from "../format/moments";
import { duration } from "../format/quantities";
import { Await, Notice } from "../parts/await";
import { Tag } from "../parts/names";
import { useBoxReference } from "../parts/reference";
import { SourceCard } from "../sources/source_card";
import { useResource } from "../store/use_store";

export const kHealthWords: Record<Health["state"], [string, string]> = {
  STATE_SERVING: ["met", "serving"],
  STATE_WAITING: ["waiting", "waiting for the first telemetry"],
  STATE_DEGRADED: ["at_risk", "degraded"],
  STATE_UNSPECIFIED: ["no_data", "not known"],
};

function HealthFacts({ health }: { health: Health }) {
  const reference = useBoxReference();
  const [kind, text] = kHealthWords[health.state] ?? ["no_data", health.state];
  return (
    <>
      {[...health.problems, ...(health.external_problems ?? [])].map((problem) => <Notice key={problem} kind="caution" title={problem} />)}
      <dl class="facts">
        <div><dt>state</dt><dd><Tag kind={kind} text={text} /></dd></div>
        <div><dt>version</dt><dd>{health.version}</dd></div>
        <div><dt>runs since</dt><dd title={utcFull(health.started_ns)}>{relative(health.started_ns, reference)}</dd></div>
        <div><dt>last answer took</dt><dd>{health.age ? duration(health.analysis_duration_ns) : "there is none yet"}</dd></div>
        <div><dt>answers so far</dt><dd>{health.age?.version ?? "0"}</dd></div>
        <div><dt>telemetry until</dt><dd>{health.age ? utcFull(health.age.data_time_ns) : "–"}</dd></div>
        <div><dt>analysis window</dt><dd>{health.age ? duration(health.age.window_ns) : "–"}</dd></div>
        <div><dt>topology</dt><dd>{health.has_topology ? "given" : "none given: no places, no paths"}</dd></div>
      </dl>
    </>
  );
}

export function SourcesView({ theme }: { theme: string }) {
  const health = useResource<Health>("/api/v1/health");
  const sources = useResource<ListSourcesResponse>("/api/v1/sources");
  return (
    <>
      <h1>Sources</h1>
      <Await resource={health} what="health">{(value) => <HealthFacts health={value} />}</Await>
      <Await resource={sources} what="sources">
        {(value) => value.sources.length === 0 ? (
          <Notice kind="caution" title="The box has no sources: nothing will ever come." />
        ) : (
          <div class="cards">
            {value.sources.map((source) => <SourceCard key={source.name} source={source} theme={theme} />)}
          </div>
        )}
      </Await>
    </>
  );
}
