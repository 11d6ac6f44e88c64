// SPDX-License-Identifier: BSD-3-Clause
// A time series plot (uPlot) in the colours of the dashboard.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { kMinuteNs } from "../past/minute";
import { MinutePick, type Picked } from "../past/minute_pick";

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
  domain?: [number, number]; // the ends of the time axis; without it, those of the data
  sync?: string; // charts with the same key share the cursor
  stepped?: boolean; // each value holds until the next one
  onZoom?: (startS: number, endS: number) => void; // after the user dragged over a time range
  minute?: bigint; // the selected past minute, which is marked
  onMinute?: (minute: bigint) => void; // after the user chose a minute
}

const kMinDragPx = 6;

function zoomHook(latest: { current: Props }) {
  return (plot: uPlot) => {
    const { left, width } = plot.select;
    if (width < kMinDragPx) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    latest.current.onZoom?.(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
  };
}

// Draws a line at the selected minute.
function markHook(latest: { current: Props }, colour: string) {
  return (plot: uPlot) => {
    const { minute } = latest.current;
    if (minute === undefined) return;
    const at = Math.round(plot.valToPos(Number(minute / 1_000_000_000n), "x", true));
    const { left, top, width, height } = plot.bbox;
    if (at < left || at > left + width) return;
    plot.ctx.save();
    plot.ctx.fillStyle = colour;
    plot.ctx.fillRect(at - 1, top, 2, height);
    plot.ctx.restore();
  };
}

function options(props: Props, latest: { current: Props }, element: HTMLElement, width: number): uPlot.Options {
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
    cursor: {
      show: !props.bare,
      drag: { x: props.onZoom !== undefined, y: false, setScale: false },
      ...(props.sync && { sync: { key: props.sync, setSeries: false } }),
    },
    hooks: { draw: [markHook(latest, of("--caution"))], ...(props.onZoom && { setSelect: [zoomHook(latest)] }) },
    legend: { show: !props.bare, live: true },
    padding: props.bare ? [2, 0, 2, 0] : [8, 8, 0, 0],
    scales: {
      // A span of a few seconds would repeat the same label.
      x: {
        time: true,
        range: (_, least, most) => latest.current.domain ?? [Math.min(least, most - kMinSpanS), most],
      },
      y: { range: (_, __, most) => [0, Math.max(props.most ?? 0, most > 0 ? most * 1.08 : 1)] },
    },
    axes: props.bare
      ? [{ show: false }, { show: false }]
      : [
          { ...axis, size: 28, space: 70, values: (_, ticks) => ticks.map((tick) => axisTime(tick, spanOf(latest.current))) },
          { ...axis, size: 66, space: 28, values: (_, ticks) => ticks.map(props.text) },
        ],
    series: [
      { label: "UTC", value: (_, time) => (time === null ? "" : legendTime(time, spanOf(latest.current))) },
      ...props.series.map((series, i): uPlot.Series => ({
        label: series.label,
        stroke: of(`--series-${i % 5}`),
        width: 1.5,
        points: { show: (_, __, first, last) => isLonely(latest.current.series[i]?.values ?? [], first, last) },
        ...(props.stepped && uPlot.paths.stepped && { paths: uPlot.paths.stepped({ align: 1 }) }),
        value: (_, value) => (value === null || value === undefined ? "" : props.text(value)),
      })),
    ],
  };
}

// A line needs two points: a chart with a single one shows it as a dot.
function isLonely(values: (number | null)[], first: number, last: number): boolean {
  return values.slice(first, last + 1).filter((value) => value !== null).length === 1;
}

const kDayS = 86_400;

function spanOf({ domain, times }: Props): number {
  return domain ? domain[1] - domain[0] : (times.at(-1) ?? 0) - (times[0] ?? 0);
}

// The time of day; for longer spans also the date, without seconds.
export function axisTime(seconds: number, spanS: number): string {
  const text = new Date(seconds * 1000).toISOString();
  if (spanS > kDayS) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  return text.slice(11, spanS > 600 ? 16 : 19);
}

function legendTime(seconds: number, spanS: number): string {
  const text = new Date(seconds * 1000).toISOString();
  return spanS > kDayS ? `${text.slice(5, 10)} ${text.slice(11, 16)}` : text.slice(11, 19);
}

// The minute at the position of a click, rounded as the cursor is. Undefined after a drag, and outside of
// the time axis.
function pickedAt(plot: uPlot, event: MouseEvent, pressedX: number): Picked | undefined {
  const frame = plot.root.getBoundingClientRect();
  const { left, width } = plot.over.getBoundingClientRect();
  const at = event.clientX - left;
  if (Math.abs(event.clientX - pressedX) >= kMinDragPx || at < 0 || at > width) return undefined;
  const minute = BigInt(Math.round(plot.posToVal(at, "x") / 60)) * kMinuteNs;
  if (minute > BigInt(Date.now()) * 1_000_000n) return undefined;
  return { minute, share: (event.clientX - frame.left) / frame.width };
}

export function Plot(props: Props) {
  const [picked, setPicked] = useState<Picked>();
  const close = useCallback(() => setPicked(undefined), []);
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const data = [props.times, ...props.series.map((series) => series.values)] as uPlot.AlignedData;
  const shape = `${props.theme} ${props.series.map((series) => series.label).join("|")}`;

  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const made = new uPlot(options(props, latest, element, element.clientWidth || 300), data, element);
    plot.current = made;
    let pressedX = 0;
    made.over.addEventListener("mousedown", (event) => (pressedX = event.clientX));
    made.over.addEventListener("click", (event) => {
      if (latest.current.onMinute) setPicked(pickedAt(made, event, pressedX));
    });
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
  // Only for other data: setData interrupts dragging.
  const drawn = useRef<unknown[]>([]);
  useEffect(() => {
    const inputs = [plot.current, props.domain?.[0], props.domain?.[1], props.minute, ...data];
    if (inputs.length === drawn.current.length && inputs.every((input, i) => input === drawn.current[i])) return;
    drawn.current = inputs;
    plot.current?.setData(data);
  });

  return (
    <div class="plot-frame">
      <div class="plot" ref={box} role="img" aria-label={props.label} />
      {picked && props.onMinute && (
        <MinutePick picked={picked} onClose={close} onShow={() => {
          close();
          props.onMinute?.(picked.minute);
        }} />
      )}
    </div>
  );
}
