// SPDX-License-Identifier: BSD-3-Clause
// The first view: is the fabric healthy, what is wrong, which jobs does it affect, what changed.
import { useMemo } from "preact/hooks";
import type { Health, ListFindingsResponse, ListJobsResponse, ListSourcesResponse } from "../api/messages";
import { splitMuted } from "../findings/review";
import { worstFirst } from "../findings/severity";
import { ActiveFindings } from "../overview/active_findings";
import { activeFindings, fabricState } from "../overview/fabric_state";
import { JobsCard } from "../overview/jobs_card";
import { TelemetryCard } from "../overview/telemetry_card";
import { Absence } from "../parts/await";
import { useFreshness } from "../parts/freshness";
import { useReference } from "../parts/reference";
import { minuteText } from "../past/minute";
import { useMinute } from "../past/minute_context";
import { href, type Route } from "../parts/route";
import { areWaiting, useResource, useShared } from "../store/use_store";
import { Changes, useChanges } from "../timeline/changes";

export function OverviewView({ route }: { route: Route }) {
  const { store } = useShared();
  const findings = useResource<ListFindingsResponse>("/api/v1/findings");
  const jobs = useResource<ListJobsResponse>("/api/v1/jobs");
  // The card of the telemetry shows these.
  const health = useResource<Health>(store.source.live ? "/api/v1/health" : "");
  const sources = useResource<ListSourcesResponse>(store.source.live ? "/api/v1/sources" : "");
  const reference = useReference();
  const freshness = useFreshness();
  const isRecording = !store.source.live;
  const minute = useMinute();
  const all = findings.value?.findings ?? [];
  const active = useMemo(() => activeFindings(all, isRecording).sort(worstFirst), [findings.value]);
  const { alerting, muted } = splitMuted(active);
  const jobNames = useMemo(
    () => new Map((jobs.value?.jobs ?? []).map((job) => [job.job_id, job.allocation?.name || job.job_id])),
    [jobs.value],
  );
  const state = findings.value && fabricState({
    findings: all, coverage: findings.value.coverage, jobCount: jobs.value?.jobs.length, freshness, isRecording,
  });
  const changes = useChanges(route, all);
  if (areWaiting(findings, jobs, health, sources) || changes.isLoading) {
    return (
      <>
        <h1 class="unseen">Overview</h1>
        <div key="loading" class="fabric-state"><p class="loading" role="status">Loading the overview …</p></div>
      </>
    );
  }
  return (
    <>
      <h1 class="unseen">Overview</h1>
      {state ? (
        <p class={`fabric-state fabric-state-${state.tone}`} role="status">
          <strong>{state.sentence}</strong> {state.detail && <span>{state.detail}</span>}
        </p>
      ) : <div class="fabric-state"><Absence resource={findings} what="findings" /></div>}
      <div key="grid" class="overview-grid">
        <section class="card" aria-labelledby="active-title">
          <h2 id="active-title">{isRecording ? "Findings" : minute === undefined ? "Active findings" : `Active findings at ${minuteText(minute)}`}</h2>
          {findings.value && active.length === 0 && (
            <p>None. <a href={href("findings")}>{all.length > 0 ? "Resolved findings" : "Telemetry coverage"}</a></p>
          )}
          <ActiveFindings findings={alerting} mutedCount={muted.length} jobNames={jobNames} reference={reference} />
        </section>
        <div class="overview-side">
          {jobs.value ? <JobsCard jobs={jobs.value.jobs} active={active} /> : (
            <section class="card"><Absence resource={jobs} what="jobs" /></section>
          )}
          <TelemetryCard coverage={findings.value?.coverage} />
        </div>
      </div>
      <Changes route={route} changes={changes} title="What changed" most={{ rows: 5, events: 5 }}
        nothing={isRecording ? "No faults." : "No fault was active and nothing changed in this time range."} />
    </>
  );
}
