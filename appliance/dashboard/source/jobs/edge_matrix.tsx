// SPDX-License-Identifier: BSD-3-Clause
// A heat map of the bytes between ranks, and a table with the largest pairs.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Edge, Job } from "../api/messages";
import { readPalette } from "../fabric/palette";
import { bytes, count, percent } from "../format/quantities";
import { ExportPng } from "../parts/export";
import { offersView, useSource } from "../parts/offered";
import { href } from "../parts/route";
import { Table, type Column } from "../parts/table";
import { buildMatrix, largestEdges, shadeOf, type Matrix } from "./matrix";

const kEdgesShown = 12;
const kSidePx = 320;

function processOf(rank: number | undefined): string {
  return rank === undefined ? "unknown rank" : String(rank);
}

function RankLink({ job, rank }: { job: string; rank?: number }) {
  const isOffered = offersView(useSource(), "paths");
  if (rank === undefined || !isOffered) return <>{processOf(rank)}</>;
  return <a href={href("jobs", { tab: "paths", rank: String(rank) }, job)} aria-label={`Paths of rank ${rank}`}>{rank}</a>;
}

const columnsOf = (job: string): Column<Edge>[] => [
  { title: "from rank", numeric: true, cell: (edge) => <RankLink job={job} rank={edge.source_rank} />, sort: (edge) => edge.source_rank ?? -1, value: (edge) => edge.source_rank },
  { title: "to rank", numeric: true, cell: (edge) => <RankLink job={job} rank={edge.destination_rank} />, sort: (edge) => edge.destination_rank ?? -1, value: (edge) => edge.destination_rank },
  { title: "data", numeric: true, unit: "B", cell: (edge) => bytes(edge.bytes), sort: (edge) => Number(edge.bytes) },
  { title: "messages", numeric: true, cell: (edge) => count(edge.messages), sort: (edge) => Number(edge.messages) },
  { title: "CE marks", numeric: true, cell: (edge) => count(edge.ce_marked_packets), sort: (edge) => Number(edge.ce_marked_packets) },
  { title: "retransmitted", numeric: true, cell: (edge) => count(edge.retransmitted_packets), sort: (edge) => Number(edge.retransmitted_packets) },
  { title: "confidence", numeric: true, unit: "0 to 1", cell: (edge) => percent(edge.confidence), sort: (edge) => edge.confidence },
];

// Cells have a whole number of pixels, so that all have the same size.
function paint(canvas: HTMLCanvasElement, matrix: Matrix) {
  const context = canvas.getContext("2d");
  if (!context) return;
  const { bins, background } = readPalette(canvas);
  const cell = Math.max(1, Math.floor((kSidePx * 2) / matrix.size));
  canvas.width = canvas.height = cell * matrix.size;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  matrix.bytes.forEach((value, at) => {
    if (value <= 0) return;
    const bin = Math.min(bins.length - 1, 1 + Math.floor(shadeOf(value, matrix.most) * (bins.length - 1.01)));
    context.fillStyle = bins[bin] as string;
    const gap = cell > 8 ? 1 : 0;
    context.fillRect((at % matrix.size) * cell, Math.floor(at / matrix.size) * cell, cell - gap, cell - gap);
  });
}

function cellText(matrix: Matrix, row: number, column: number): string {
  const ranks = (at: number) => {
    const first = at * matrix.ranksPerCell;
    return matrix.ranksPerCell === 1 ? `rank ${first}` : `ranks ${first}-${first + matrix.ranksPerCell - 1}`;
  };
  return `${ranks(row)} to ${ranks(column)}: ${bytes(matrix.bytes[row * matrix.size + column] ?? 0)}`;
}

export function EdgeMatrix({ job, theme }: { job: Job; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const matrix = useMemo(() => buildMatrix(job), [job]);
  const [pointed, setPointed] = useState("");
  useEffect(() => {
    if (canvas.current) paint(canvas.current, matrix);
  }, [matrix, theme]);
  if (job.edges.length === 0) return <p class="muted">No traffic between ranks of this job was observed.</p>;
  const point = (event: PointerEvent) => {
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const at = (place: number, length: number) =>
      Math.min(matrix.size - 1, Math.max(0, Math.floor((place / length) * matrix.size)));
    setPointed(cellText(matrix, at(event.clientY - box.top, box.height), at(event.clientX - box.left, box.width)));
  };
  return (
    <div class="matrix-and-table">
      <figure class="matrix">
        <div class="matrix-top" aria-hidden="true"><span>0</span><span>to rank</span><span>{matrix.size * matrix.ranksPerCell - 1}</span></div>
        <canvas
          ref={canvas} role="img" onPointerMove={point} onPointerLeave={() => setPointed("")}
          aria-label="Heat map of the bytes between ranks. The table next to it lists the largest pairs."
        />
        <figcaption>{pointed || `Rows send, columns receive, up to ${bytes(matrix.most)}; logarithmic colour scale.`}</figcaption>
        <ExportPng title="Bytes between ranks" series={[]} chart={() => canvas.current} />
      </figure>
      <Table caption="Largest traffic between ranks" columns={columnsOf(job.job_id)} rows={largestEdges(job.edges, job.edges.length)} most={kEdgesShown} file="Traffic between ranks"
        keyOf={(edge) => `${edge.source_rank} ${edge.destination_rank} ${edge.bytes}`} />
    </div>
  );
}
