// SPDX-License-Identifier: BSD-3-Clause
// The traffic matrix of a job: rows send, columns receive. In large jobs several ranks share a cell,
// so that cells stay visible.
import type { Edge, Job } from "../api/messages";

export interface Matrix {
  size: number; // cells on a side
  ranksPerCell: number;
  bytes: Float64Array; // size * size, by row
  most: number;
}

export const kMaxCells = 256;

export function buildMatrix(job: Job): Matrix {
  const ranks = job.edges.reduce(
    (most, edge) => Math.max(most, (edge.source_rank ?? -1) + 1, (edge.destination_rank ?? -1) + 1),
    job.expected_rank_count,
  );
  const ranksPerCell = Math.max(1, Math.ceil(ranks / kMaxCells));
  const size = Math.max(1, Math.ceil(ranks / ranksPerCell));
  const bytes = new Float64Array(size * size);
  let most = 0;
  for (const edge of job.edges) {
    const { source_rank, destination_rank } = edge;
    if (source_rank === undefined || destination_rank === undefined) continue;
    const row = Math.floor(source_rank / ranksPerCell);
    const column = Math.floor(destination_rank / ranksPerCell);
    const at = row * size + column;
    bytes[at] = (bytes[at] ?? 0) + Number(edge.bytes);
    most = Math.max(most, bytes[at] ?? 0);
  }
  return { size, ranksPerCell, bytes, most };
}

// Logarithmic, because the traffic of trees and pipelines differs by orders of magnitude.
export function shadeOf(value: number, most: number): number {
  if (value <= 0 || most <= 0) return 0;
  const decades = 4;
  return Math.max(0.08, 1 + Math.log10(value / most) / decades);
}

export function largestEdges(edges: Edge[], most: number): Edge[] {
  return [...edges].sort((a, b) => Number(b.bytes) - Number(a.bytes)).slice(0, most);
}
