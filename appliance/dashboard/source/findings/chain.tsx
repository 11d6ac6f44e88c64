// SPDX-License-Identifier: BSD-3-Clause
// From cause to impact: the flows that cause the fault, its place, its symptoms, the affected jobs.
import type { ComponentChildren } from "preact";
import type { Finding } from "../api/messages";
import { percent, plural } from "../format/quantities";
import { FlowEnds } from "../parts/flow_ends";
import { JobLink, Place } from "../parts/names";
import { kindTitle } from "./titles";

const kShown = 6;

function Step({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <li>
      <h2>{title}</h2>
      {children}
    </li>
  );
}

function Names({ items }: { items: ComponentChildren[] }) {
  const shown = items.slice(0, kShown);
  return (
    <ul>
      {shown.map((item, i) => <li key={i}>{item}</li>)}
      {items.length > kShown && <li class="muted">and {items.length - kShown} more</li>}
    </ul>
  );
}

export function Chain({ finding, jobNames }: { finding: Finding; jobNames?: Map<string, string> }) {
  const { culprits, symptoms, affected_job_ids, exposed_job_ids, loop_ports, reach } = finding;
  return (
    <ol class="chain" aria-label="From cause to impact">
      {culprits.length > 0 && (
        <Step title="causing flows">
          <Names items={culprits.map((culprit) => (
            <>
              <FlowEnds flow={culprit} />
              {culprit.share > 0 && `, ${percent(culprit.share)}`}
              {culprit.job_id && <> of <JobLink id={culprit.job_id} label={jobNames?.get(culprit.job_id)} /></>}
              {culprit.rank !== undefined && ` rank ${culprit.rank}`}
            </>
          ))} />
        </Step>
      )}
      <Step title={kindTitle(finding.kind)}>
        <Place name={finding.place} />
        {finding.direction && <p class="muted">sent by {finding.direction}</p>}
        {loop_ports.length > 0 && <Names items={loop_ports.map((port) => <Place name={port} />)} />}
      </Step>
      {symptoms.length > 0 && (
        <Step title="symptoms of this fault">
          <Names items={symptoms.map((symptom) => (
            <>{kindTitle(symptom.kind)} at <Place name={symptom.place} /></>
          ))} />
        </Step>
      )}
      <Step title="affected jobs">
        {affected_job_ids.length === 0 ? <p class="muted">no effect on a job was measured</p> : (
          <Names items={affected_job_ids.map((job) => <JobLink id={job} label={jobNames?.get(job)} />)} />
        )}
        {exposed_job_ids.length > 0 && (
          <>
            <p class="muted">exposed jobs: their traffic passes here, but nothing shows that the fault affects them</p>
            <Names items={exposed_job_ids.map((job) => <JobLink id={job} label={jobNames?.get(job)} />)} />
          </>
        )}
        {reach && (
          <p class="muted">
            in use by {plural(reach.job_count, "job")}, {plural(reach.rank_count, "rank")}, {plural(reach.gpu_count, "GPU")},{" "}
            {plural(reach.host_count, "host")}
          </p>
        )}
      </Step>
    </ol>
  );
}
