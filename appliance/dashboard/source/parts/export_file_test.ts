// SPDX-License-Identifier: BSD-3-Clause
import { expect, it } from "vitest";
import { csvCell, csvParts, fileName, jsonParts } from "./export_file";

it("quotes commas, quotes and line breaks", () => {
  expect(csvCell('a "b", c')).toBe('"a ""b"", c"');
  expect(csvCell("two\nlines")).toBe('"two\nlines"');
  expect(csvCell("plain")).toBe("plain");
  expect(csvCell(undefined)).toBe("");
});

it("writes an apostrophe before a text that is a formula", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"]) expect(csvCell(text)).toBe(`'${text}`);
  expect(csvCell('=HYPERLINK("http://x","y")')).toBe(`"'=HYPERLINK(""http://x"",""y"")"`);
  expect(csvCell(-1.5)).toBe("-1.5"); // a number is not a formula
  expect(csvCell(Number.NaN)).toBe("");
});

it("writes a line for each row", async () => {
  const columns = [{ title: "name", value: (row: { n: string }) => row.n }, { title: "size", value: () => 2 }];
  expect((await csvParts(columns, [{ n: "a,b" }, { n: "-c" }])).join("")).toBe('name,size\r\n"a,b",2\r\n\'-c,2\r\n');
  expect(JSON.parse((await jsonParts([{ n: 1 }, { n: 2 }])).join(""))).toEqual([{ n: 1 }, { n: 2 }]);
  expect(JSON.parse((await jsonParts([])).join(""))).toEqual([]);
});

it("pauses between slices of a long list", async () => {
  const rows = Array.from({ length: 100_000 }, (_, i) => i);
  let [ms, pauses] = [0, 0];
  const shares: number[] = [];
  const parts = await csvParts([{ title: "n", value: (row: number) => row }], rows, {
    now: () => (ms += 5),
    pause: async () => ++pauses,
    progress: (share) => shares.push(share),
  });
  expect(pauses).toBeGreaterThan(100);
  expect(shares.every((share, i) => share > (shares[i - 1] ?? 0) && share <= 1)).toBe(true);
  expect(parts.join("").split("\r\n")).toHaveLength(100_002);
});

it("makes file names that every system accepts", () => {
  expect(fileName("Ranks of a/b (c)", "csv")).toBe("ranks-of-a-b-c.csv");
  expect(fileName("../..", "json")).toBe("export.json");
});
