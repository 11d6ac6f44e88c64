// SPDX-License-Identifier: BSD-3-Clause
// The link metrics as a table, an accessible alternative to the map, and the load of the busiest
// links since the page was opened.
import { useRef } from "preact/hooks";
import type { LinkLoad } from "../api/messages";
import { bitRate, bytes, count, duration, percent, toNanoseconds, toNumber } from "../format/quantities";
import { enumWords } from "../format/words";
import { ExportPng } from "../parts/export";
import { Place } from "../parts/names";
import { Plot, type Series } from "../parts/plot";
import { Table, type Column, type TableState } from "../parts/table";
import { useMinute } from "../past/minute_context";
import { useShared } from "../store/use_store";
import { bitsPerSecond, busiest, type Loads } from "./loads";
import type { Metric } from "./metrics";
import { otherEnd, type Fabric } from "./model";

const kRows = 20;
const kLines = 5;

interface Props {
  fabric: Fabric;
  loads: Loads;
  metric: Metric;
  theme: string;
  state: TableState;
}

function columnsOf(fabric: Fabric): Column<LinkLoad>[] {
  const rate = (load: LinkLoad) => bitsPerSecond(fabric, load);
  return [
    { title: "sending port", cell: (load) => <Place name={load.port} />, sort: (load) => load.port },
    { title: "to", cell: (load) => otherEnd(fabric, load.port) ?? "–" },
    { title: "utilisation", numeric: true, unit: "0 to 1", cell: (load) => (load.utilization === undefined ? "–" : percent(load.utilization)), sort: (load) => load.utilization ?? -1 },
    { title: "rate", numeric: true, unit: "b/s", cell: (load) => { const r = rate(load); return r === undefined ? "–" : bitRate(r); }, sort: (load) => rate(load) ?? -1 },
    { title: "CE marks", numeric: true, cell: (load) => count(load.ce_marked_packets), sort: (load) => Number(load.ce_marked_packets) },
    { title: "dropped", numeric: true, cell: (load) => count(load.dropped_packets), sort: (load) => Number(load.dropped_packets) },
    { title: "paused", numeric: true, unit: "ns", cell: (load) => duration(load.paused_duration), sort: (load) => toNanoseconds(load.paused_duration) },
    { title: "peak queue", numeric: true, unit: "B", cell: (load) => (load.peak_queue_bytes === undefined ? "–" : bytes(load.peak_queue_bytes)), sort: (load) => toNumber(load.peak_queue_bytes) },
    { title: "errors", numeric: true, cell: (load) => count(load.error_frames), sort: (load) => Number(load.error_frames) },
    { title: "source", cell: (load) => enumWords(load.source) || "–" },
  ];
}

function LoadOverTime({ ports, theme }: { ports: string[]; theme: string }) {
  const { store, histories } = useShared();
  const isPast = useMinute() !== undefined;
  const box = useRef<HTMLElement>(null);
  if (!store.source.live || isPast) return null;
  const windows = histories.links;
  const series: Series[] = ports.map((port) => ({
    label: port,
    values: windows.map((window) => window.utilization.get(port) ?? null),
  }));
  return (
    <section aria-labelledby="load-title" ref={box}>
      <h2 id="load-title">Load of the busiest links since this page was opened</h2>
      {windows.length < 2 ? (
        <p class="muted">Collecting: {windows.length} of at least 2 windows.</p>
      ) : (
        <>
          <Plot
            label="Load over time of the busiest links" theme={theme} height={170}
            times={windows.map((window) => window.endS)} series={series} text={(value) => percent(value)}
          />
          <ExportPng title="Load of the busiest links" series={ports} chart={() => box.current?.querySelector("canvas") ?? null} />
        </>
      )}
    </section>
  );
}

export function BusiestLinks({ fabric, loads, metric, theme, state }: Props) {
  // The filter searches all links, not only those that are shown without it.
  const rows = busiest(loads, metric, state.filter ? Infinity : kRows);
  const byLoad = metric.name === "load" ? rows : [];
  return (
    <>
      <section aria-labelledby="busiest-title">
        <h2 id="busiest-title">Links with the most {metric.title.replace(/^[LPQ]/, (first) => first.toLowerCase())}</h2>
        {rows.length === 0 ? (
          <p class="muted">
            {loads.byPort.size === 0 ? "No link metrics are available for this window." : "None in this window."}
          </p>
        ) : (
          <Table caption="Busiest links" columns={columnsOf(fabric)} rows={rows} keyOf={(load) => load.port} most={kRows} file="Busiest links" {...state} />
        )}
      </section>
      {byLoad.length > 0 && <LoadOverTime ports={byLoad.slice(0, kLines).map((load) => load.port)} theme={theme} />}
    </>
  );
}
