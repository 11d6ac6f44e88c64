// SPDX-License-Identifier: BSD-3-Clause
// A table with sortable columns that shows the first rows and a button for more. It can have a text filter,
// and a row can have details that open below it.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { naturally } from "../fabric/model";
import { count } from "../format/quantities";
import { Export } from "./export";
import type { ExportColumn } from "./export_file";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  sort?: (row: Row) => number | string;
  numeric?: boolean;
  hint?: string;
  unit?: string; // unit of `sort`, for exports
  search?: (row: Row) => string; // what the filter finds in addition to the exported text
  value?: (row: Row) => string | number | undefined; // for exports; default: `cell` if it is text, otherwise `sort`
}

export interface TableState {
  order?: string; // title of the column to sort by, with "-" in front for descending order
  onOrder?: (order: string) => void; // without it, the table keeps the order itself
  filter?: string; // words that must all occur in a row
  onFilter?: (filter: string) => void; // without it, the table has no filter
  opened?: string; // key of the row whose details are open
  onOpen?: (key: string) => void; // empty: no row; without it, the table keeps the open rows itself, which can be several
}

interface Props<Row> extends TableState {
  caption: string; // the accessible name
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  most?: number;
  rowClass?: (row: Row) => string;
  file?: string; // name of exported files; without it, the table cannot be exported
  detail?: (row: Row) => ComponentChildren;
}

interface Order {
  column: number;
  down: boolean;
}

function sorted<Row>(rows: Row[], columns: Column<Row>[], order: Order | undefined): Row[] {
  const sort = order && columns[order.column]?.sort;
  if (!sort) return rows;
  const compare = (a: Row, b: Row) => {
    const [x, y] = [sort(a), sort(b)];
    return typeof x === "number" && typeof y === "number" ? x - y : naturally(String(x), String(y));
  };
  return [...rows].sort((a, b) => (order.down ? compare(b, a) : compare(a, b)));
}

export function parseOrder(text: string, titles: string[]): Order | undefined {
  const down = text.startsWith("-");
  const column = titles.indexOf(down ? text.slice(1) : text);
  return column < 0 ? undefined : { column, down };
}

// Cells that show that a value is missing; `sort` then returns a number that is no value.
const kMissing = new Set(["–", "unknown", "not reported", "none known"]);

export function exportColumns<Row>(columns: Column<Row>[]): ExportColumn<Row>[] {
  const textOf = (column: Column<Row>, row: Row) => {
    if (column.value) return column.value(row);
    const cell = column.cell(row);
    if (typeof cell === "string" && kMissing.has(cell)) return undefined;
    if (typeof cell === "string" || typeof cell === "number") return column.numeric && column.sort ? column.sort(row) : cell;
    return column.sort?.(row);
  };
  return columns.map((column) => ({
    title: column.unit ? `${column.title} (${column.unit})` : column.title, value: (row) => textOf(column, row),
  }));
}

// The rows that contain all words, in the text that an export has for them.
export function filtered<Row>(rows: Row[], columns: Column<Row>[], text: string): Row[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  const exported = exportColumns(columns);
  return rows.filter((row) => {
    const all = exported.map((column, i) => `${column.value(row) ?? ""} ${columns[i]?.search?.(row) ?? ""}`).join(" ").toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

interface RowFilterProps {
  caption: string;
  text: string;
  shown: number;
  total: number;
  onFilter: (filter: string) => void;
}

function RowFilter({ caption, text, shown, total, onFilter }: RowFilterProps) {
  return (
    <div class="filter" role="search" aria-label={`Filter of ${caption}`}>
      <label>
        filter{" "}
        <input type="search" value={text} placeholder="words in a row" autocomplete="off" onInput={(event) => onFilter(event.currentTarget.value)} />
      </label>
      <span class="muted" role="status">{text.trim() !== "" && `${count(shown)} of ${count(total)}`}</span>
    </div>
  );
}

export function Table<Row>({
  caption, columns, rows: allRows, keyOf, most = 100, rowClass, file, detail, order: givenOrder, onOrder, filter = "", onFilter,
  opened: givenOpened = "", onOpen,
}: Props<Row>) {
  const [ownOrder, setOwnOrder] = useState("");
  const [shown, setShown] = useState(most);
  const [ownOpened, setOwnOpened] = useState<ReadonlySet<string>>(new Set());
  const titles = columns.map((column) => column.title);
  const orderText = givenOrder ?? ownOrder;
  const order = parseOrder(orderText, titles);
  const rows = useMemo(() => (onFilter ? filtered(allRows, columns, filter) : allRows), [allRows, columns, filter, onFilter === undefined]);
  const all = useMemo(() => sorted(rows, columns, order), [rows, columns, orderText]);
  const sortBy = (column: number) => {
    const down = order?.column === column ? !order.down : (columns[column]?.numeric ?? false);
    (onOrder ?? setOwnOrder)(`${down ? "-" : ""}${titles[column]}`);
  };
  const isOpened = (key: string) => (onOpen ? key === givenOpened : ownOpened.has(key));
  const toggle = (key: string) => {
    if (onOpen) return onOpen(key === givenOpened ? "" : key);
    setOwnOpened((old) => {
      const next = new Set(old);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  };
  const rowOf = (row: Row) => {
    const key = keyOf(row);
    const isOpen = detail !== undefined && isOpened(key);
    const cells = (
      <tr key={key} class={rowClass?.(row)}>
        {detail && (
          <td class="toggle">
            <button type="button" data-item="" aria-expanded={isOpen} aria-label={`Details of ${key}`} onClick={() => toggle(key)}>
              <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
            </button>
          </td>
        )}
        {columns.map((column) => (
          <td key={column.title} class={column.numeric ? "number" : ""}>{column.cell(row)}</td>
        ))}
      </tr>
    );
    if (!isOpen) return [cells];
    return [cells, <tr key={`${key} details`} class="detail"><td colSpan={columns.length + 1}>{detail(row)}</td></tr>];
  };
  return (
    <div class="table-frame">
      {onFilter && <RowFilter caption={caption} text={filter} shown={rows.length} total={allRows.length} onFilter={onFilter} />}
      {rows.length === 0 && allRows.length > 0 && <p class="muted">No row contains "{filter.trim()}".</p>}
      <div class="table-box" role="region" aria-label={caption} tabIndex={0}>
        <table>
          <thead>
            <tr>
              {detail && <th class="toggle"><span class="unseen">details</span></th>}
              {columns.map((column, i) => {
                const direction = order?.column === i ? (order.down ? "descending" : "ascending") : undefined;
                return (
                  <th key={column.title} scope="col" class={column.numeric ? "number" : ""} title={column.hint} aria-sort={direction}>
                    {column.sort ? (
                      <button type="button" onClick={() => sortBy(i)}>
                        {column.title}
                        {direction && <span aria-hidden="true">{order?.down ? " ▾" : " ▴"}</span>}
                      </button>
                    ) : (
                      column.title
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>{all.slice(0, shown).flatMap(rowOf)}</tbody>
        </table>
      </div>
      {(all.length > shown || file) && (
        <div class="table-foot">
          {all.length > shown && (
            <button type="button" onClick={() => setShown(shown * 4)}>
              {count(shown)} of {count(all.length)}: show more
            </button>
          )}
          {file && <Export name={file} columns={exportColumns(columns)} rows={all} />}
        </div>
      )}
    </div>
  );
}
