// SPDX-License-Identifier: BSD-3-Clause
// Buttons that save the rows of a list, or a chart.
import { useState } from "preact/hooks";
import { count } from "../format/quantities";
import { csvParts, fileName, jsonParts, saveFile, type ExportColumn } from "./export_file";

interface Props<Row> {
  name: string; // file name without its ending
  columns?: ExportColumn<Row>[]; // without columns there is no CSV
  rows: Row[];
}

const kTypes = { csv: "text/csv;charset=utf-8", json: "application/json" };

export function Export<Row>({ name, columns, rows }: Props<Row>) {
  const [share, setShare] = useState<number>();
  if (rows.length === 0) return null;
  const save = async (kind: "csv" | "json") => {
    setShare(0);
    try {
      const parts = kind === "csv" && columns
        ? await csvParts(columns, rows, { progress: setShare })
        : await jsonParts(rows, { progress: setShare });
      saveFile(fileName(name, kind), new Blob(parts, { type: kTypes[kind] }));
    } finally {
      setShare(undefined);
    }
  };
  const button = (kind: "csv" | "json") => (
    <button type="button" disabled={share !== undefined} onClick={() => void save(kind)}
      aria-label={`Save ${name} as ${kind.toUpperCase()}, ${count(rows.length)} rows`}>
      {kind.toUpperCase()}
    </button>
  );
  return (
    <span class="export">
      {columns && button("csv")}
      {button("json")}
      <span class="export-share" role="status">{share !== undefined && `${Math.floor(share * 100)} %`}</span>
    </span>
  );
}

interface Legend {
  label: string;
  colour: string;
}

const kPad = 12;
const kTitleHeight = 26;
const kLegendHeight = 24;

// Draws the chart with its title and legend, which are not part of the canvas.
function compose(chart: HTMLCanvasElement, title: string, legend: Legend[]): HTMLCanvasElement {
  const ratio = chart.width / Math.max(1, chart.clientWidth);
  const whole = document.createElement("canvas");
  whole.width = chart.width + 2 * kPad * ratio;
  whole.height = chart.height + (kTitleHeight + kLegendHeight + kPad) * ratio;
  const c = whole.getContext("2d");
  if (!c) return whole;
  const style = getComputedStyle(chart);
  const of = (name: string) => style.getPropertyValue(name).trim();
  c.fillStyle = of("--panel");
  c.fillRect(0, 0, whole.width, whole.height);
  c.drawImage(chart, kPad * ratio, kTitleHeight * ratio);
  c.scale(ratio, ratio);
  c.textBaseline = "middle";
  c.fillStyle = of("--text");
  c.font = `600 13px ${style.fontFamily}`;
  c.fillText(title, kPad, kTitleHeight / 2 + 2);
  c.font = `12px ${style.fontFamily}`;
  let x = kPad;
  const y = kTitleHeight + chart.height / ratio + kLegendHeight / 2;
  for (const { label, colour } of legend) {
    c.fillStyle = colour;
    c.fillRect(x, y - 1.5, 14, 3);
    c.fillStyle = of("--text");
    c.fillText(label, x + 19, y);
    x += 19 + c.measureText(label).width + 16;
  }
  return whole;
}

interface PngProps {
  title: string;
  series: string[];
  chart: () => HTMLCanvasElement | null;
}

export function ExportPng({ title, series, chart }: PngProps) {
  const save = () => {
    const canvas = chart();
    if (!canvas) return;
    const style = getComputedStyle(canvas);
    const legend = series.map((label, i) => ({ label, colour: style.getPropertyValue(`--series-${i % 5}`).trim() }));
    compose(canvas, title, legend).toBlob((blob) => blob && saveFile(fileName(title, "png"), blob), "image/png");
  };
  return <button type="button" class="small" aria-label={`Save ${title} as PNG`} onClick={save}>PNG</button>;
}
