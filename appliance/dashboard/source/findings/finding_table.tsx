// SPDX-License-Identifier: BSD-3-Clause
// The list of findings with its filter.
import type { Finding } from "../api/messages";
import { nsBetween, sortKey, toNs, type Reference } from "../format/moments";
import { count, duration, plural } from "../format/quantities";
import { Notice } from "../parts/await";
import { JobLink, Moment, Share } from "../parts/names";
import { choose, orderInUrl, type Route } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { filterOf, isFiltered, matches, type Filter } from "./filter";
import { findingId, hrefOfFinding } from "./finding_id";
import { kReviewStates, reviewText, splitMuted } from "./review";
import { kSeverities, kStates, severityOf, stateOf, worstFirst } from "./severity";
import { SeverityTag, StateTag } from "./severity_tag";
import { kindTitle, shortTitle } from "./titles";

interface Props {
  route: Route;
  findings: Finding[];
  jobNames: Map<string, string>;
  reference: Reference;
}

const kJobsShown = 3;

// Until its end, or until now.
export function activeNs(finding: Finding, { nowNs }: Reference): number | undefined {
  if (finding.end_time !== undefined) return nsBetween(finding.start_time, finding.end_time);
  const start = toNs(finding.start_time);
  return nowNs === undefined || start === undefined || nowNs < start ? undefined : Number(nowNs - start);
}

function JobNames({ ids, jobNames }: { ids: string[]; jobNames: Map<string, string> }) {
  if (ids.length === 0) return <span class="muted">none known</span>;
  return (
    <>
      {ids.slice(0, kJobsShown).map((id, i) => <span key={id}>{i > 0 && ", "}<JobLink id={id} label={jobNames.get(id)} /></span>)}
      {ids.length > kJobsShown && ` and ${count(ids.length - kJobsShown)} more`}
    </>
  );
}

function columnsOf(jobNames: Map<string, string>, reference: Reference): Column<Finding>[] {
  return [
    { title: "severity", cell: (finding) => <SeverityTag finding={finding} />, sort: (finding) => kSeverities.indexOf(severityOf(finding)), value: severityOf },
    {
      title: "finding",
      cell: (finding) => <a href={hrefOfFinding(finding)} data-item="" title={finding.sentence}>{shortTitle(finding)}</a>,
      sort: shortTitle,
    },
    { title: "state", cell: (finding) => <StateTag finding={finding} />, sort: (finding) => kStates.indexOf(stateOf(finding)), value: stateOf },
    { title: "review", cell: (finding) => reviewText(finding) || "–", sort: reviewText, value: reviewText },
    { title: "started", cell: (finding) => <Moment time={finding.start_time} reference={reference} />, sort: (finding) => sortKey(finding.start_time), value: (finding) => finding.start_time },
    {
      title: "active for", numeric: true, unit: "ns",
      cell: (finding) => {
        const ns = activeNs(finding, reference);
        return ns === undefined ? "–" : duration(ns);
      },
      sort: (finding) => activeNs(finding, reference) ?? 0, value: (finding) => activeNs(finding, reference),
    },
    { title: "affected jobs", cell: (finding) => <JobNames ids={finding.affected_job_ids} jobNames={jobNames} />, sort: (finding) => -finding.affected_job_ids.length, value: (finding) => finding.affected_job_ids.join(" ") },
    { title: "confidence", numeric: true, unit: "0 to 1", cell: (finding) => <Share value={finding.confidence} />, sort: (finding) => finding.confidence },
    { title: "recommended action", cell: (finding) => <span class="clamp" title={finding.recommended_action}>{finding.recommended_action}</span>, value: (finding) => finding.recommended_action },
  ];
}

function Choice({ name, value, values, route }: { name: keyof Filter; value: string; values: [string, string][]; route: Route }) {
  return (
    <label>
      {name}{" "}
      <select value={value} onChange={(event) => choose(route, { [name]: event.currentTarget.value })}>
        <option value="">all</option>
        {values.map(([option, title]) => <option key={option} value={option}>{title}</option>)}
      </select>
    </label>
  );
}

const kOffered = 500; // more would make the browser's list slow

interface FilterBarProps {
  route: Route;
  filter: Filter;
  findings: Finding[];
  shown: number;
  jobNames: Map<string, string>;
}

function FilterBar({ route, filter, findings, shown, jobNames }: FilterBarProps) {
  const plain = (values: readonly string[]): [string, string][] => values.map((value) => [value, value]);
  // The selected kind stays an option, even if its last finding has expired.
  const kinds = [...new Set([...findings.map((finding) => finding.kind), filter.kind])].filter(Boolean).sort();
  const names = [...new Set(findings.flatMap((finding) => [finding.place, ...finding.affected_job_ids.map((id) => jobNames.get(id) ?? id)]))].slice(0, kOffered);
  return (
    <div class="filter" role="search" aria-label="Filter of findings">
      <Choice name="severity" value={filter.severity} values={plain(kSeverities)} route={route} />
      <Choice name="state" value={filter.state} values={plain(kStates)} route={route} />
      <Choice name="kind" value={filter.kind} values={kinds.map((kind) => [kind, kindTitle(kind)])} route={route} />
      <Choice name="review" value={filter.review} values={plain(kReviewStates)} route={route} />
      <label>
        text{" "}
        <input
          type="search" value={filter.text} list="finding-names" placeholder="place, job, words" autocomplete="off"
          onInput={(event) => choose(route, { text: event.currentTarget.value })}
        />
      </label>
      <datalist id="finding-names">{names.map((name) => <option key={name} value={name} />)}</datalist>
      <span class="muted" role="status">{count(shown)} of {count(findings.length)}</span>
      {isFiltered(filter) && (
        <button type="button" onClick={() => choose(route, { severity: "", state: "", kind: "", review: "", text: "" })}>Clear</button>
      )}
    </div>
  );
}

export function FindingTable({ route, findings, jobNames, reference }: Props) {
  const filter = filterOf(route.query);
  const shown = findings.filter((finding) => matches(finding, filter, jobNames)).sort(worstFirst);
  const { alerting, muted } = splitMuted(shown);
  const table = (caption: string, rows: Finding[], file: string) => (
    <Table caption={caption} columns={columnsOf(jobNames, reference)} rows={rows} keyOf={findingId} most={25} file={file} {...orderInUrl(route)} />
  );
  return (
    <>
      <FilterBar route={route} filter={filter} findings={findings} shown={shown.length} jobNames={jobNames} />
      {shown.length === 0 && <Notice kind="empty" title="No finding matches the filter." />}
      {alerting.length > 0 && table("Findings, the worst first", alerting, "Findings")}
      {muted.length > 0 && (
        <details class="card muted-findings" open={filter.review === "muted"}>
          <summary>{plural(muted.length, "muted finding")}</summary>
          {table("Muted findings, the worst first", muted, "Muted findings")}
        </details>
      )}
      {shown.some((finding) => stateOf(finding) === "suspected") && (
        <p class="muted">Suspected: more likely wrong than right. Verify it before you act.</p>
      )}
    </>
  );
}
