// SPDX-License-Identifier: BSD-3-Clause
// The charts of one job over time.
import { useMemo, useRef } from "preact/hooks";
import type { GetJobHistoryResponse, JobPoint } from "../api/messages";
import { bitRate, duration, scaled, toNanoseconds } from "../format/quantities";
import { Export, ExportPng } from "../parts/export";
import type { ExportColumn } from "../parts/export_file";
import { choose, visit, type Route } from "../parts/route";
import { Plot } from "../parts/plot";
import { queryOfEnds, queryOfMinute } from "../range/range";
import { RangePicker } from "../range/range_picker";
import { useShared } from "../store/use_store";
import { HistoryAbsence, isWithoutHistory, NoPoints } from "./history_notices";
import { iterationOf, jobBitRate, kStateTexts, stateValue, timeline, valuesAt } from "./points";
import { TimeCharts, zeroOr, type Chart } from "./time_chart";
import { useHistory, useWindow } from "./use_history";
import { nanosecondsOf } from "./window";

interface Props {
  job: string;
  title: string;
  ranks: number; // 0: unknown
  route: Route;
  theme: string;
}

function chartsOf(times: number[], points: JobPoint[], stepS: number, ranks: number): Chart[] {
  const values = (value: (point: JobPoint) => number | undefined) => valuesAt(times, points, value);
  const rate = jobBitRate(stepS);
  return [
    { title: "Iteration time", hint: "mean iteration period, inferred from traffic", text: zeroOr(duration), series: [{ label: "iteration time", values: values(iterationOf) }] },
    ranks > 0
      ? {
          title: "Bus bandwidth per rank", hint: "data sent by each rank, averaged over communication and computation", text: zeroOr(bitRate),
          series: [{ label: "per rank", values: values((point) => rate(point) / ranks) }],
        }
      : { title: "Bus bandwidth", hint: "data sent by all ranks", text: zeroOr(bitRate), series: [{ label: "all ranks", values: values(rate) }] },
    {
      title: "Iterations per minute", hint: "0: the job sent no data", text: (value) => scaled(value, ""),
      series: [{ label: "iterations", values: values((point) => (point.iteration_count * 60) / stepS) }],
    },
    {
      title: "Faults that affect the job", hint: "greatest number at the same time", text: (value) => (Number.isInteger(value) ? String(value) : ""), most: 2, stepped: true,
      series: [{ label: "faults", values: values((point) => point.finding_count) }],
    },
    {
      title: "Service level", hint: "worst state", text: (value) => kStateTexts[value] ?? "", most: 2, stepped: true,
      series: [{ label: "service level", values: values(stateValue) }],
    },
  ];
}

const kColumns: ExportColumn<JobPoint>[] = [
  { title: "start_time", value: (point) => point.start_time },
  { title: "bytes", value: (point) => point.bytes },
  { title: "iteration_count", value: (point) => point.iteration_count },
  { title: "mean_iteration_period_ns", value: iterationOf },
  { title: "finding_count", value: (point) => point.finding_count },
  { title: "service_level_state", value: (point) => point.service_level_state },
];

// The values that the page collected, for an appliance without a history.
function SinceOpened({ job, theme }: { job: string; theme: string }) {
  const collected = useShared().histories.jobs.get(job) ?? [];
  const box = useRef<HTMLElement>(null);
  if (collected.length < 2) return null;
  return (
    <section aria-labelledby="collected-title" ref={box}>
      <h2 id="collected-title">Iteration time since this page was opened</h2>
      <Plot label="Iteration time since this page was opened" theme={theme} height={160} text={duration}
        times={collected.map((value) => value.timeS)} series={[{ label: "iteration time", values: collected.map((value) => value.periodNs ?? null) }]} />
      <ExportPng title={`Iteration time of ${job}`} series={["iteration time"]} chart={() => box.current?.querySelector("canvas") ?? null} />
    </section>
  );
}

export function JobHistory({ job, title, ranks, route, theme }: Props) {
  const { window, range, nowNs } = useWindow(route.query);
  const history = useHistory<GetJobHistoryResponse>("jobs", job, window);
  const { value } = history;
  const stepS = toNanoseconds(value?.step) / 1e9 || 60;
  const [times, charts] = useMemo(() => {
    const all = value ? timeline([value.points], stepS) : [];
    return [all, chartsOf(all, value?.points ?? [], stepS, ranks)] as const;
  }, [value, ranks]);
  if (isWithoutHistory(history)) {
    return (
      <>
        <HistoryAbsence resource={history} />
        <SinceOpened job={job} theme={theme} />
      </>
    );
  }
  return (
    <>
      <RangePicker route={route} range={range} nowNs={nowNs} note={`Step ${duration(stepS * 1e9)}. Drag over a chart to zoom, click to show a minute.`} />
      {!value && <HistoryAbsence resource={history} />}
      {value && value.points.length === 0 && <NoPoints route={route} what="this job" window={window} />}
      {value && value.points.length > 0 && (
        <>
          <TimeCharts name={title} times={times} charts={charts} window={window} theme={theme}
            onZoom={(startS, endS) => choose(route, queryOfEnds(nanosecondsOf(startS), nanosecondsOf(endS)))}
            onMinute={(minute) => visit(route, queryOfMinute(route.query, minute, range))} />
          <div class="table-foot"><Export name={`History of ${title}`} columns={kColumns} rows={value.points} /></div>
        </>
      )}
    </>
  );
}
