// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import type { Job } from "../api/messages";
import { ranksText } from "../hotspots/hotspot_table";
import { buildMatrix, shadeOf } from "./matrix";

const edge = (source_rank: number | undefined, destination_rank: number, bytes: string) => ({ source_rank, destination_rank, bytes });
const job = (expected_rank_count: number, edges: unknown[]) => ({ expected_rank_count, edges }) as Job;

it("adds up the bytes between two ranks", () => {
  const matrix = buildMatrix(job(4, [edge(0, 1, "10"), edge(0, 1, "5"), edge(undefined, 2, "99")]));
  expect(matrix).toMatchObject({ size: 4, ranksPerCell: 1, most: 15 });
  expect(matrix.bytes[1]).toBe(15);
});

it("shares cells between ranks of large jobs", () => {
  const matrix = buildMatrix(job(1024, [edge(1023, 3, "7")]));
  expect(matrix).toMatchObject({ size: 256, ranksPerCell: 4 });
  expect(matrix.bytes[255 * 256]).toBe(7);
});

it("shades logarithmically, and shows small values as nonzero", () => {
  expect(shadeOf(100, 100)).toBe(1);
  expect(shadeOf(1, 100)).toBeCloseTo(0.5);
  expect(shadeOf(1, 1e9)).toBeGreaterThan(0);
  expect(shadeOf(0, 100)).toBe(0);
});

it("writes consecutive ranks as a range", () => {
  expect(ranksText([3, 1, 0, 2, 7])).toBe("0-3, 7");
  expect(ranksText([])).toBe("–");
});
