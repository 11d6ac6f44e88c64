// SPDX-License-Identifier: BSD-3-Clause
// A table with sortable columns that shows the first rows and a button for more.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { naturally } from "../fabric/model";
import { count } from "../format/quantities";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  sort?: (row: Row) => number | string;
  numeric?: boolean;
  hint?: string;
}

interface Props<Row> {
  caption: string; // the accessible name
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  most?: number;
  rowClass?: (row: Row) => string;
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

export function Table<Row>({ caption, columns, rows, keyOf, most = 100, rowClass }: Props<Row>) {
  const [order, setOrder] = useState<Order>();
  const [shown, setShown] = useState(most);
  const all = useMemo(() => sorted(rows, columns, order), [rows, columns, order]);
  const sortBy = (column: number) =>
    setOrder((old) => ({
      column,
      down: old?.column === column ? !old.down : (columns[column]?.numeric ?? false),
    }));
  return (
    <div class="table-box" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <thead>
          <tr>
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
        <tbody>
          {all.slice(0, shown).map((row) => (
            <tr key={keyOf(row)} class={rowClass?.(row)}>
              {columns.map((column) => (
                <td key={column.title} class={column.numeric ? "number" : ""}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown * 4)}>
          {count(shown)} of {count(all.length)}: show more
        </button>
      )}
    </div>
  );
}
