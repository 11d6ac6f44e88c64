// SPDX-License-Identifier: BSD-3-Clause
// A time series plot (uPlot) in the colours of the dashboard.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

export interface Series {
  label: string;
  values: (number | null)[];
}

const kMinSpanS = 30;

interface Props {
  label: string; // text alternative for screen readers
  times: number[]; // seconds since the epoch
  series: Series[];
  height: number;
  theme: string;
  text: (value: number) => string;
  bare?: boolean; // without axes and legend
  most?: number; // the upper end of the scale, at least
}

function options(props: Props, element: HTMLElement, width: number): uPlot.Options {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: of("--muted"),
    grid: { stroke: of("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  return {
    width,
    height: props.height,
    tzDate: (time) => uPlot.tzDate(new Date(time * 1000), "Etc/UTC"),
    fmtDate: (template) => uPlot.fmtDate(template.replace("{h}:", "{HH}:").replace("{aa}", "")),
    cursor: { show: !props.bare, drag: { x: false, y: false } },
    legend: { show: !props.bare, live: true },
    padding: props.bare ? [2, 0, 2, 0] : [8, 8, 0, 0],
    scales: {
      // A span of a few seconds would repeat the same label.
      x: { time: true, range: (_, least, most) => [Math.min(least, most - kMinSpanS), most] },
      y: { range: (_, __, most) => [0, Math.max(props.most ?? 0, most > 0 ? most * 1.08 : 1)] },
    },
    axes: props.bare
      ? [{ show: false }, { show: false }]
      : [
          { ...axis, space: 70, values: (_, ticks) => ticks.map(clockTime) },
          { ...axis, size: 66, space: 28, values: (_, ticks) => ticks.map(props.text) },
        ],
    series: [
      { label: "UTC", value: (_, time) => (time === null ? "" : clockTime(time)) },
      ...props.series.map((series, i): uPlot.Series => ({
        label: series.label,
        stroke: of(`--series-${i % 5}`),
        width: 1.5,
        points: { show: false },
        value: (_, value) => (value === null || value === undefined ? "" : props.text(value)),
      })),
    ],
  };
}

function clockTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(11, 19);
}

export function Plot(props: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [props.times, ...props.series.map((series) => series.values)] as uPlot.AlignedData;
  const shape = `${props.theme} ${props.series.map((series) => series.label).join("|")}`;

  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const made = new uPlot(options(props, element, element.clientWidth || 300), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: props.height }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
    // setData updates an existing plot; only a change of its shape requires a new one.
  }, [shape]);
  useEffect(() => plot.current?.setData(data));

  return <div class="plot" ref={box} role="img" aria-label={props.label} />;
}
