// SPDX-License-Identifier: BSD-3-Clause
// Service levels by indicator and by entity.
import type { GetServiceLevelsResponse, ServiceIndicator, ServiceLevel } from "../api/messages";
import { count, inUnit, percent } from "../format/quantities";
import { enumName, enumWords, serviceStateText, words } from "../format/words";
import { Place, Share, Tag } from "../parts/names";
import { Table, type Column } from "../parts/table";

const kIndicatorColumns: Column<ServiceIndicator>[] = [
  { title: "indicator", cell: (row) => <span title={row.meaning}>{words(row.name)}</span>, sort: (row) => row.name },
  { title: "layer", cell: (row) => enumWords(row.layer) || "–", sort: (row) => row.layer },
  { title: "missed", numeric: true, cell: (row) => count(row.missed), sort: (row) => Number(row.missed) },
  { title: "at risk", numeric: true, cell: (row) => count(row.at_risk), sort: (row) => Number(row.at_risk) },
  { title: "within bounds", numeric: true, cell: (row) => count(row.met), sort: (row) => Number(row.met) },
  { title: "no data", numeric: true, cell: (row) => count(row.no_data), sort: (row) => Number(row.no_data) },
  { title: "worst", cell: (row) => row.worst ? `${row.worst.entity}: ${inUnit(row.worst.last, row.unit)}, ${percent(row.worst.within_long)} within` : "–" },
  { title: "meaning", cell: (row) => <span class="muted">{row.meaning}</span> },
];

export function IndicatorTable({ answer }: { answer: GetServiceLevelsResponse }) {
  const value = answer.service_levels;
  if (!value || value.indicators.length === 0) return <p class="muted">No service indicator with a bound is measured.</p>;
  return (
    <>
      <p class="muted">
        Objective: {percent(value.objective, 1)} of the last {value.short_windows} windows, and of the last{" "}
        {value.long_windows}, are within bounds.
      </p>
      <Table caption="Service indicators" columns={kIndicatorColumns} rows={value.indicators} keyOf={(row) => row.name} />
    </>
  );
}

function levelColumns(units: Map<string, ServiceIndicator>): Column<ServiceLevel>[] {
  const unit = (row: ServiceLevel) => units.get(row.indicator)?.unit ?? "";
  const sign = (row: ServiceLevel) => (units.get(row.indicator)?.violation === "VIOLATION_BELOW" ? "≥" : "≤");
  return [
    { title: "indicator", cell: (row) => <span title={units.get(row.indicator)?.meaning}>{words(row.indicator)}</span>, sort: (row) => row.indicator },
    { title: "entity", cell: (row) => (row.entity.includes(":") ? <Place name={row.entity} /> : row.entity), sort: (row) => row.entity },
    { title: "state", cell: (row) => <Tag kind={enumName(row.state)} text={serviceStateText(row.state)} />, sort: (row) => enumName(row.state) },
    { title: "last", numeric: true, cell: (row) => inUnit(row.last, unit(row)), sort: (row) => row.last },
    { title: "bound", numeric: true, cell: (row) => `${sign(row)} ${inUnit(row.bound, unit(row))}${row.bound_learnt ? " (learnt)" : ""}`, sort: (row) => row.bound },
    { title: "within, short", numeric: true, cell: (row) => <Share value={row.within_short} />, sort: (row) => row.within_short },
    { title: "within, long", numeric: true, cell: (row) => <Share value={row.within_long} />, sort: (row) => row.within_long },
  ];
}

// The service levels of a job and of its hosts, GPUs and NICs.
export function JobLevels({ answer, job, hosts }: {
  answer: GetServiceLevelsResponse; job: string; hosts: Set<string>;
}) {
  const value = answer.service_levels;
  const indicators = value?.indicators ?? [];
  const rows = (value?.levels ?? []).filter(
    (level) => level.entity === job || hosts.has(level.entity.split(":")[0] ?? ""),
  );
  const measured = indicators.filter((indicator) => Number(indicator.no_data) === 0 || Number(indicator.met) > 0);
  if (indicators.length === 0) return <p class="muted">No service indicator with a bound is measured.</p>;
  if (rows.length === 0) {
    return (
      <p>
        The job, its GPUs and its NICs are within bounds. Measured indicators:{" "}
        {measured.map((indicator) => words(indicator.name)).join(", ") || "none yet"}.
      </p>
    );
  }
  const units = new Map(indicators.map((indicator) => [indicator.name, indicator]));
  return (
    <Table caption="Service levels of the job" columns={levelColumns(units)} rows={rows}
      keyOf={(row) => `${row.indicator} ${row.entity}`} most={12} />
  );
}
