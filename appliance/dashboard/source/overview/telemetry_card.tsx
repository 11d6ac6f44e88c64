// SPDX-License-Identifier: BSD-3-Clause
// Coverage and freshness of the telemetry, and the problems of the appliance.
import type { DiagnosisCoverage, Health, ListSourcesResponse, Source } from "../api/messages";
import { utcDate, utcTime } from "../format/moments";
import { coarse, count, plural } from "../format/quantities";
import { Absence } from "../parts/await";
import { useFreshness } from "../parts/freshness";
import { href } from "../parts/route";
import { useMinute } from "../past/minute_context";
import { useResource, useShared } from "../store/use_store";

function worksText(sources: Source[]): string {
  const working = sources.filter((source) => source.error === "" && source.last_arrival_time !== undefined).length;
  return `${count(working)} of ${plural(sources.length, "source")} received data`;
}

// "6 of 6 switches". Empty if there are none.
function reporting(part: number, total: number, noun: string): string {
  return total === 0 ? "" : `${count(part)} of ${plural(total, noun)}`;
}

function Problems({ health }: { health: Health }) {
  const problems = [...health.problems, ...health.external_problems];
  const [first] = problems;
  if (first === undefined) return null;
  return (
    <p class="hot-line">
      {first}{" "}
      <a href={href("sources")}>{problems.length > 1 ? `All ${count(problems.length)} problems` : "Sources"}</a>
    </p>
  );
}

export function TelemetryCard({ coverage }: { coverage?: DiagnosisCoverage }) {
  const { store } = useShared();
  const healthAnswer = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  const sourcesAnswer = useResource<ListSourcesResponse>(store.source.live ? "/api/v1/sources" : "");
  const [health, sources] = [healthAnswer.value, sourcesAnswer.value];
  const freshness = useFreshness();
  const reports = coverage && [
    reporting(coverage.reporting_switch_count, coverage.total_switch_count, "switch"),
    reporting(coverage.reporting_nic_count, coverage.total_nic_count, "NIC"),
    reporting(coverage.reporting_gpu_count, coverage.total_gpu_count, "GPU"),
  ].filter(Boolean);
  const isPast = useMinute() !== undefined;
  const undetectable = coverage?.undetectable_kinds.length ?? 0;
  return (
    <section class="card" aria-labelledby="telemetry-title">
      <h2 id="telemetry-title">Telemetry</h2>
      <dl class="lines">
        {!isPast && health?.snapshot && (
          <div>
            <dt>data until</dt>
            <dd title={utcDate(health.snapshot.data_time)}>
              {utcTime(health.snapshot.data_time, 0)} UTC
              {freshness && <span class={freshness.isOld ? "fault-line" : "muted"}> ({coarse(freshness.ageNs)} old)</span>}
            </dd>
          </div>
        )}
        {!isPast && sources && <div><dt>sources</dt><dd><a href={href("sources")}>{worksText(sources.sources)}</a></dd></div>}
        {reports && reports.length > 0 && <div><dt>reporting</dt><dd>{reports.join(", ")}</dd></div>}
        {coverage && (
          <div>
            <dt>fault types</dt>
            <dd><a href={href("findings", { show: "coverage" })}>{undetectable === 0 ? "all known types are detectable" : `${count(undetectable)} not detectable`}</a></dd>
          </div>
        )}
      </dl>
      {!isPast && store.source.live && !health && <Absence resource={healthAnswer} what="the health of the appliance" />}
      {!isPast && store.source.live && !sources && <Absence resource={sourcesAnswer} what="sources" />}
      {isPast
        ? <p class="muted">The history does not contain the health of the appliance: <a href={href("sources")}>sources now</a></p>
        : health && <Problems health={health} />}
    </section>
  );
}
