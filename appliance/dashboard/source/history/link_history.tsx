// SPDX-License-Identifier: BSD-3-Clause
// The charts of both directions of a link over time.
import { useMemo } from "preact/hooks";
import type { GetLinkHistoryResponse, LinkPoint } from "../api/messages";
import { duration, percent, perSecond, toNanoseconds } from "../format/quantities";
import { Export } from "../parts/export";
import type { ExportColumn } from "../parts/export_file";
import { choose, visit, type Route } from "../parts/route";
import { queryOfEnds, queryOfMinute } from "../range/range";
import { RangePicker } from "../range/range_picker";
import { HistoryAbsence, isWithoutHistory, NoPoints } from "./history_notices";
import { ceMarkRate, lossRate, pausedShare, timeline, valuesAt } from "./points";
import { TimeCharts, zeroOr, type Chart } from "./time_chart";
import { useHistory, useWindow } from "./use_history";
import { nanosecondsOf } from "./window";

interface Direction {
  port: string; // that sends
  points: LinkPoint[];
}

function chartsOf(times: number[], directions: Direction[], stepS: number): Chart[] {
  const series = (value: (point: LinkPoint) => number | undefined, what = "") => directions.map(({ port, points }) => ({
    label: `${port} sends${what}`, values: valuesAt(times, points, value),
  }));
  return [
    {
      title: "Load", hint: "mean, and greatest of an analysis window", text: zeroOr((value) => percent(value)), most: 0.1,
      series: [...series((point) => point.mean_utilization), ...series((point) => point.max_utilization, ", greatest")],
    },
    { title: "CE marks", hint: "packets marked in the egress queue", text: zeroOr(perSecond), series: series(ceMarkRate(stepS)) },
    { title: "Pauses", hint: "share of the time, summed over priorities", text: zeroOr((value) => percent(value, value < 0.1 ? 1 : 0)), most: 0.01, series: series(pausedShare(stepS)) },
    { title: "Lost packets", hint: "dropped in the egress queue, or received with errors at the other end", text: zeroOr(perSecond), series: series(lossRate(stepS)) },
  ];
}

interface Row {
  port: string;
  point: LinkPoint;
}

const kColumns: ExportColumn<Row>[] = [
  { title: "port", value: ({ port }) => port },
  { title: "start_time", value: ({ point }) => point.start_time },
  { title: "mean_utilization", value: ({ point }) => point.mean_utilization },
  { title: "max_utilization", value: ({ point }) => point.max_utilization },
  { title: "bytes", value: ({ point }) => point.bytes },
  { title: "ce_marked_packets", value: ({ point }) => point.ce_marked_packets },
  { title: "dropped_packets", value: ({ point }) => point.dropped_packets },
  { title: "error_frames", value: ({ point }) => point.error_frames },
  { title: "paused_ns", value: ({ point }) => toNanoseconds(point.paused_duration) },
  { title: "peak_queue_bytes", value: ({ point }) => point.peak_queue_bytes },
];

interface Props {
  ports: [string, string];
  name: string;
  route: Route;
  theme: string;
}

export function LinkHistory({ ports, name, route, theme }: Props) {
  const { window, range, nowNs } = useWindow(route.query);
  const first = useHistory<GetLinkHistoryResponse>("links", ports[0], window);
  const second = useHistory<GetLinkHistoryResponse>("links", ports[1], window);
  // A port without points has no step of its own.
  const stepS = Math.max(60, ...[first, second].map(({ value }) => toNanoseconds(value?.step) / 1e9));
  const known = first.value && second.value;
  const [times, charts] = useMemo(() => {
    const directions = [first, second].map(({ value }, i): Direction => ({ port: ports[i] as string, points: value?.points ?? [] }));
    const all = timeline(directions.map(({ points }) => points), stepS);
    return [all, chartsOf(all, directions, stepS)] as const;
  }, [first.value, second.value, ports[0], ports[1]]);
  const missing = first.value ? second : first;
  if (isWithoutHistory(missing)) return <HistoryAbsence resource={missing} />;
  const rows = [first, second].flatMap(({ value }, i) => (value?.points ?? []).map((point): Row => ({ port: ports[i] as string, point })));
  return (
    <>
      <RangePicker route={route} range={range} nowNs={nowNs} note={`Step ${duration(stepS * 1e9)}. Drag over a chart to zoom, click to show a minute.`} />
      {!known && <HistoryAbsence resource={missing} />}
      {known && times.length === 0 && <NoPoints route={route} what="this link" window={window} />}
      {known && times.length > 0 && (
        <>
          <TimeCharts name={name} times={times} charts={charts} window={window} theme={theme}
            onZoom={(startS, endS) => choose(route, queryOfEnds(nanosecondsOf(startS), nanosecondsOf(endS)))}
            onMinute={(minute) => visit(route, queryOfMinute(route.query, minute, range))} />
          <div class="table-foot"><Export name={`History of ${name}`} columns={kColumns} rows={rows} /></div>
        </>
      )}
    </>
  );
}
