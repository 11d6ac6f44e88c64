// SPDX-License-Identifier: BSD-3-Clause
// Rows as CSV or JSON. Long lists are written in slices, so that the page stays responsive.

export interface ExportColumn<Row> {
  title: string;
  value: (row: Row) => string | number | undefined;
}

const kSliceMs = 12;
const kRowsBetweenChecks = 200;

// A spreadsheet executes a cell that starts with one of these characters as a formula.
const kFormula = /^[=+\-@\t\r]/;

export function csvCell(value: string | number | undefined): string {
  if (value === undefined) return "";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = kFormula.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

function csvLine<Row>(columns: ExportColumn<Row>[], row: Row): string {
  return `${columns.map((column) => csvCell(column.value(row))).join(",")}\r\n`;
}

export interface Slicing {
  now?: () => number;
  pause?: () => Promise<unknown>;
  progress?: (share: number) => void; // 0 to 1
}

async function inSlices<Row>(rows: Row[], textOf: (row: Row, index: number) => string, slicing: Slicing): Promise<string[]> {
  const { now = () => performance.now(), pause = () => new Promise((done) => setTimeout(done)), progress } = slicing;
  const parts: string[] = [];
  let part: string[] = [];
  let startMs = now();
  for (let i = 0; i < rows.length; ++i) {
    part.push(textOf(rows[i] as Row, i));
    if (part.length < kRowsBetweenChecks) continue;
    parts.push(part.join(""));
    part = [];
    if (now() - startMs < kSliceMs) continue;
    progress?.((i + 1) / rows.length);
    await pause();
    startMs = now();
  }
  parts.push(part.join(""));
  return parts;
}

// The parts of the file. Lines end as in RFC 4180.
export async function csvParts<Row>(columns: ExportColumn<Row>[], rows: Row[], slicing: Slicing = {}): Promise<string[]> {
  const head = `${columns.map((column) => csvCell(column.title)).join(",")}\r\n`;
  return [head, ...(await inSlices(rows, (row) => csvLine(columns, row), slicing))];
}

// The rows as the API spells them, one on each line.
export async function jsonParts<Row>(rows: Row[], slicing: Slicing = {}): Promise<string[]> {
  const line = (row: Row, i: number) => `${i > 0 ? ",\n" : ""}${JSON.stringify(row)}`;
  return ["[", ...(await inSlices(rows, line, slicing)), "]\n"];
}

export function fileName(name: string, ending: string): string {
  const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  return `${plain || "export"}.${ending}`;
}

export function saveFile(name: string, content: Blob) {
  const url = URL.createObjectURL(content);
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000); // the browser reads the content after click() returns
}
