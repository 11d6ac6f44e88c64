// SPDX-License-Identifier: BSD-3-Clause
import { render } from "preact";
import { expect, it } from "vitest";
import { csvParts } from "./export_file";
import { exportColumns, filtered, parseOrder, Table, type Column, type TableState } from "./table";

interface Row {
  name: string;
  size?: number;
}

const kColumns: Column<Row>[] = [
  { title: "name", cell: (row) => <a href="#/">{row.name}</a>, sort: (row) => row.name },
  { title: "size", numeric: true, unit: "B", cell: (row) => (row.size === undefined ? "–" : `${row.size / 1000} kB`), sort: (row) => row.size ?? -1 },
];
const kRows: Row[] = [{ name: "b", size: 3000 }, { name: "a" }, { name: "c", size: 9000 }];

function rendered(props: TableState & { detail?: (row: Row) => string } = {}) {
  const parent = document.createElement("div");
  render(<Table caption="Rows" columns={kColumns} rows={kRows} keyOf={(row) => row.name} {...props} />, parent);
  return parent;
}

const namesIn = (parent: HTMLElement) => [...parent.querySelectorAll("tbody a")].map((cell) => cell.textContent).join("");

it("exports numbers in their unit, and nothing for a missing value", async () => {
  expect((await csvParts(exportColumns(kColumns), kRows)).join("")).toBe("name,size (B)\r\nb,3000\r\na,\r\nc,9000\r\n");
});

it("sorts by the order in the URL", () => {
  expect(namesIn(rendered({ order: "-size" }))).toBe("cba");
  expect(namesIn(rendered({ order: "name" }))).toBe("abc");
  expect(namesIn(rendered({ order: "no such column" }))).toBe("bac");
  expect(parseOrder("-size", ["name", "size"])).toEqual({ column: 1, down: true });
});

it("asks for the other direction of a column that it is sorted by", () => {
  let asked = "";
  const parent = rendered({ order: "-size", onOrder: (order) => (asked = order) });
  parent.querySelectorAll<HTMLElement>("th button")[1]?.click();
  expect(asked).toBe("size");
});

it("filters by words in any column", () => {
  const columns: Column<Row>[] = [{ ...kColumns[0] as Column<Row>, search: (row) => `id-of-${row.name}` }, kColumns[1] as Column<Row>];
  const namesOf = (text: string) => filtered(kRows, columns, text).map((row) => row.name).join("");
  expect([namesOf(""), namesOf("C"), namesOf("3000 b"), namesOf("b 9000"), namesOf("id-of-a")]).toEqual(["bac", "c", "b", "", "a"]);
  const parent = rendered({ filter: "none such", onFilter: () => {} });
  expect(parent.textContent).toContain("0 of 3");
  expect(parent.textContent).toContain("No row contains \"none such\".");
  expect(rendered({ filter: "b" }).querySelector("input")).toBeNull();
});

it("opens the details that the URL names", () => {
  const asked: string[] = [];
  const parent = rendered({ opened: "a", onOpen: (key) => asked.push(key), detail: (row) => `all about ${row.name}` });
  expect(parent.querySelector("tr.detail")?.textContent).toBe("all about a");
  parent.querySelectorAll<HTMLElement>("td.toggle button").forEach((button) => button.click());
  expect(asked).toEqual(["b", "", "c"]);
});

it("opens the details of a row", async () => {
  const parent = rendered({ detail: (row) => `all about ${row.name}` });
  const button = parent.querySelector<HTMLElement>("td.toggle button");
  expect(button?.getAttribute("aria-expanded")).toBe("false");
  button?.click();
  await new Promise((done) => setTimeout(done));
  expect(button?.getAttribute("aria-expanded")).toBe("true");
  expect(parent.querySelector("tr.detail")?.textContent).toBe("all about b");
});
