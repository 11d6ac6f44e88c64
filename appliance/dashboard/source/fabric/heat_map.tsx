// SPDX-License-Identifier: BSD-3-Clause
// A heat map of the links between leaves and spines. It shows uneven ECMP: a bright row or column.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { plural } from "../format/quantities";
import { ExportPng } from "../parts/export";
import { hrefOfPlace } from "../parts/route";
import { heatMatrix, type HeatMatrix } from "./heat_matrix";
import type { Colouring } from "./loads";
import type { Metric } from "./metrics";
import { linkName, type Fabric } from "./model";
import { readPalette } from "./palette";

interface Props {
  fabric: Fabric;
  colouring: Colouring;
  metric: Metric;
  theme: string;
}

const kCellPx = 14;
const kMinCellPx = 5;
const kSidePx = 900;

// In CSS pixels; the same for rows and columns.
function cellOf({ leaves, spines }: HeatMatrix): number {
  return Math.max(kMinCellPx, Math.min(kCellPx, Math.floor(kSidePx / Math.max(leaves.length, spines.length))));
}

function paint(canvas: HTMLCanvasElement, matrix: HeatMatrix, colouring: Colouring) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { bins, unknown, background } = readPalette(canvas);
  const cell = cellOf(matrix) * 2; // for screens with two pixels per CSS pixel
  const columns = matrix.spines.length;
  canvas.width = columns * cell;
  canvas.height = matrix.leaves.length * cell;
  canvas.style.width = `${canvas.width / 2}px`;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  matrix.links.forEach((link, at) => {
    if (link < 0) return;
    const bin = colouring.bins[link] ?? -1;
    context.fillStyle = bin < 0 ? unknown : (bins[bin] as string);
    context.fillRect((at % columns) * cell, Math.floor(at / columns) * cell, cell - 2, cell - 2);
  });
}

export function HeatMap({ fabric, colouring, metric, theme }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [pointed, setPointed] = useState(-1); // link
  const matrix = useMemo(() => heatMatrix(fabric, colouring), [fabric, colouring]);
  useEffect(() => {
    if (isOpen && canvas.current) paint(canvas.current, matrix, colouring);
  }, [isOpen, matrix, colouring, theme]);
  if (matrix.leaves.length < 2 || matrix.spines.length < 2) return null;
  const linkAt = (event: MouseEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = (place: number, length: number, cells: number) => Math.min(cells - 1, Math.max(0, Math.floor((place / length) * cells)));
    const row = at(event.clientY - box.top, box.height, matrix.leaves.length);
    return matrix.links[row * matrix.spines.length + at(event.clientX - box.left, box.width, matrix.spines.length)] ?? -1;
  };
  const link = fabric.links[pointed];
  const value = colouring.values[pointed] ?? -1;
  const title = metric.title.replace(/^[LPQ]/, (first) => first.toLowerCase());
  return (
    <details class="card" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><strong>Heat map of {title}: {plural(matrix.leaves.length, "leaf switch")} × {plural(matrix.spines.length, "spine switch")}</strong></summary>
      <p class="heat-text" aria-live="polite">
        {link ? `${link.portA} – ${link.portB}: ${value < 0 ? "unknown" : metric.text(value)}` : "Rows are leaf switches, columns are spine switches. Choose a cell to show its link."}
      </p>
      <div class="table-box" role="region" aria-label={`Heat map of ${title}`} tabIndex={0}>
        <canvas ref={canvas} class="heat" role="img"
          aria-label={`Heat map of ${title} between leaf and spine switches. The table lists the links with the greatest values.`}
          onPointerMove={(event) => setPointed(linkAt(event))} onPointerLeave={() => setPointed(-1)}
          onClick={(event) => {
            const chosen = fabric.links[linkAt(event)];
            if (chosen) location.hash = hrefOfPlace(linkName(chosen));
          }} />
      </div>
      <ExportPng title={`Heat map of ${title}, leaf by spine switches`} series={[]} chart={() => canvas.current} />
    </details>
  );
}
