// SPDX-License-Identifier: BSD-3-Clause
// Service levels by indicator and by entity.
import type { Int64, ListServiceLevelsResponse, ServiceIndicator, ServiceLevel } from "../api/messages";
import { count, inUnit, percent, plural } from "../format/quantities";
import { enumName, enumWords, serviceStateText, words } from "../format/words";
import { Truncated } from "../parts/await";
import { JobLink, Place, Share, Tag } from "../parts/names";
import { Table, type Column } from "../parts/table";

// The indicators count all levels. Only the job's table shows single levels, and the appliance sends
// the violated ones first.
export const kIndicatorsPath = "/api/v1/service-levels?page_size=1";
export function jobLevelsPath(job: string): string {
  return `/api/v1/service-levels?job_id=${encodeURIComponent(job)}&page_size=1000`;
}

function Entity({ level }: { level: ServiceLevel }) {
  if (level.layer === "SERVICE_LAYER_APPLICATION" || level.layer === "SERVICE_LAYER_COLLECTIVE") return <JobLink id={level.entity} />;
  return level.entity.includes(":") ? <Place name={level.entity} /> : <>{level.entity}</>;
}

const kIndicatorColumns: Column<ServiceIndicator>[] = [
  { title: "indicator", cell: (row) => <span title={row.meaning}>{words(row.name)}</span>, sort: (row) => row.name },
  { title: "layer", cell: (row) => enumWords(row.layer) || "–", sort: (row) => row.layer },
  { title: "missed", numeric: true, cell: (row) => count(row.missed_count), sort: (row) => Number(row.missed_count) },
  { title: "at risk", numeric: true, cell: (row) => count(row.at_risk_count), sort: (row) => Number(row.at_risk_count) },
  { title: "within bounds", numeric: true, cell: (row) => count(row.met_count), sort: (row) => Number(row.met_count) },
  { title: "no data", numeric: true, cell: (row) => count(row.no_data_count), sort: (row) => Number(row.no_data_count) },
  {
    title: "worst",
    cell: ({ worst, unit }) => worst ? <><Entity level={worst} />: {valueText(worst.last_value, unit)}, {percent(worst.long_window_ratio ?? 0)} within</> : "–",
    value: ({ worst }) => worst?.entity,
  },
  { title: "meaning", cell: (row) => <span class="muted">{row.meaning}</span> },
];

export function IndicatorTable({ answer }: { answer: ListServiceLevelsResponse }) {
  if (answer.indicators.length === 0) return <p class="muted">No service indicator with a bound is measured.</p>;
  return (
    <>
      <p class="muted">
        Objective: {percent(answer.objective, 1)} of the last {answer.short_window_count} windows, and of the last{" "}
        {answer.long_window_count}, are within bounds.
      </p>
      <Table caption="Service indicators" columns={kIndicatorColumns} rows={answer.indicators} keyOf={(row) => row.name} file="Service indicators" />
    </>
  );
}

function valueText(value: number | undefined, unit: string): string {
  return value === undefined ? "–" : inUnit(value, unit);
}

function levelColumns(units: Map<string, ServiceIndicator>): Column<ServiceLevel>[] {
  const unit = (row: ServiceLevel) => units.get(row.indicator)?.unit ?? "";
  const sign = (row: ServiceLevel) => (units.get(row.indicator)?.violation === "VIOLATION_BELOW" ? "≥" : "≤");
  return [
    { title: "indicator", cell: (row) => <span title={units.get(row.indicator)?.meaning}>{words(row.indicator)}</span>, sort: (row) => row.indicator },
    { title: "entity", cell: (row) => <Entity level={row} />, sort: (row) => row.entity },
    { title: "state", cell: (row) => <Tag kind={enumName(row.state)} text={serviceStateText(row.state)} />, sort: (row) => enumName(row.state) },
    { title: "last", numeric: true, cell: (row) => valueText(row.last_value, unit(row)), sort: (row) => row.last_value ?? -1 },
    { title: "bound", numeric: true, cell: (row) => `${sign(row)} ${valueText(row.bound, unit(row))}${row.bound_learnt ? " (learnt)" : ""}`, sort: (row) => row.bound ?? -1 },
    { title: "within, short", numeric: true, cell: (row) => (row.short_window_ratio === undefined ? "–" : <Share value={row.short_window_ratio} />), sort: (row) => row.short_window_ratio ?? -1 },
    { title: "within, long", numeric: true, cell: (row) => (row.long_window_ratio === undefined ? "–" : <Share value={row.long_window_ratio} />), sort: (row) => row.long_window_ratio ?? -1 },
  ];
}

function sum(indicators: ServiceIndicator[], countOf: (indicator: ServiceIndicator) => Int64): number {
  return indicators.reduce((total, indicator) => total + Number(countOf(indicator)), 0);
}

const names = (indicators: ServiceIndicator[]) => indicators.map((indicator) => words(indicator.name)).join(", ");

// The service levels of a job and of the GPUs and NICs of its hosts. `answer` contains no others.
export function JobLevels({ answer }: { answer: ListServiceLevelsResponse }) {
  const { indicators } = answer;
  if (indicators.length === 0) return <p class="muted">Unknown: no service indicator with a bound is measured for this job.</p>;
  const violated = sum(indicators, (one) => one.missed_count) + sum(indicators, (one) => one.at_risk_count);
  const met = sum(indicators, (one) => one.met_count);
  const unknown = sum(indicators, (one) => one.no_data_count);
  const rows = answer.service_levels.filter((level) => level.state === "STATE_MISSED" || level.state === "STATE_AT_RISK");
  const measured = indicators.filter((one) => Number(one.met_count) > 0);
  const unmeasured = indicators.filter((one) => Number(one.no_data_count) > 0);
  const units = new Map(indicators.map((indicator) => [indicator.name, indicator]));
  return (
    <>
      {violated > 0 && (
        <>
          <Table caption="Service levels of the job" columns={levelColumns(units)} rows={rows}
            keyOf={(row) => `${row.indicator} ${row.entity}`} most={12} file="Service levels" />
          <Truncated shown={rows.length} total={violated} />
        </>
      )}
      {met > 0 && (
        <p>Within bounds: {plural(met, "service level")} of the job, its GPUs and its NICs ({names(measured)}).</p>
      )}
      {unknown > 0 && <p class="muted">Unknown, no data: {plural(unknown, "service level")} ({names(unmeasured)}).</p>}
    </>
  );
}
