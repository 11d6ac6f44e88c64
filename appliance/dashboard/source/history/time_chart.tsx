// SPDX-License-Identifier: BSD-3-Clause
// Charts over the same time range. They share the cursor, and dragging over one zooms all.
import { useRef } from "preact/hooks";
import { ExportPng } from "../parts/export";
import { useMinute } from "../past/minute_context";
import { Plot, type Series } from "../parts/plot";
import type { TimeWindow } from "./window";

const kHeight = 160;

export interface Chart {
  title: string;
  hint?: string;
  series: Series[];
  text: (value: number) => string;
  most?: number; // the upper end of the scale, at least
  stepped?: boolean;
}

interface Props {
  name: string; // what the charts are about; part of the file names
  times: number[];
  charts: Chart[];
  window: TimeWindow;
  theme: string;
  onZoom: (startS: number, endS: number) => void;
  onMinute: (minute: bigint) => void;
}

// "0" instead of "0 ns": the unit of zero does not matter.
export const zeroOr = (text: (value: number) => string) => (value: number) => (value === 0 ? "0" : text(value));

// The text alternative of a chart: the range of each series and its last value.
export function describe({ title, series, text }: Chart): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value): value is number => value !== null);
    if (known.length === 0) return `${label}: no data`;
    const [least, most] = known.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    return `${label}: ${text(least)} to ${text(most)}, last ${text(known.at(-1) as number)}`;
  });
  return `${title}. ${parts.join("; ")}.`;
}

function TimeChart({ name, times, chart, window, theme, onZoom, onMinute }: Omit<Props, "charts"> & { chart: Chart }) {
  const figure = useRef<HTMLElement>(null);
  const title = `${chart.title}, ${name}`;
  const minute = useMinute();
  return (
    <figure class="chart" ref={figure}>
      <figcaption>
        <strong>{chart.title}</strong>
        {chart.hint && <span class="muted" title={chart.hint}>{chart.hint}</span>}
        <ExportPng title={title} series={chart.series.map((series) => series.label)}
          chart={() => figure.current?.querySelector("canvas") ?? null} />
      </figcaption>
      <Plot
        label={describe(chart)} times={times} series={chart.series} height={kHeight} theme={theme} text={chart.text}
        most={chart.most} stepped={chart.stepped} domain={[window.startS, window.endS]} sync={name} onZoom={onZoom}
        minute={minute} onMinute={onMinute}
      />
    </figure>
  );
}

export function TimeCharts({ charts, ...shared }: Props) {
  return (
    <div class="charts">
      {charts.map((chart) => <TimeChart key={chart.title} chart={chart} {...shared} />)}
    </div>
  );
}
