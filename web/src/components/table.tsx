import clsx from "clsx";
import { ArrowDown, ArrowUp } from "lucide-react";
import type { ReactNode } from "react";

import { kitWords } from "../texts/kit-words";

export type Sort = { column: string; direction: "ascending" | "descending" };

export type Column<Row> = {
  id: string;
  title: string;
  /** Numbers stand at the end of the line. */
  align?: "start" | "end";
  /** CSS width; the columns without one share the rest. */
  width?: string;
  /** Whether the header sorts by it. */
  isSortable?: boolean;
  /** Left out on narrow screens. */
  isSecondary?: boolean;
  cell: (row: Row) => ReactNode;
};

type Props<Row> = {
  /** What the table shows, for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  sort?: Sort | undefined;
  onSort?: (sort: Sort) => void;
};

/** A table for up to a few hundred rows. The grid of the table editor is another thing. */
export function Table<Row>({ label, columns, rows, rowKey, sort, onSort }: Props<Row>) {
  return (
    <div className="thin-scroll overflow-x-auto rounded-lg border border-line bg-surface" tabIndex={-1}>
      <table aria-label={label} className="w-full border-collapse text-dense">
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} width={column.width} />
          ))}
        </colgroup>
        <thead>
          <tr className="border-b border-line">
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line-soft">
          {rows.map((row) => (
            <tr key={rowKey(row)} className="group hover:bg-hover">
              {columns.map((column) => (
                <td
                  key={column.id}
                  className={clsx(
                    "h-row px-3 py-1",
                    column.align === "end" && "text-end tabular-nums",
                    column.isSecondary && "max-md:hidden",
                  )}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

type HeaderProps<Row> = {
  column: Column<Row>;
  sort: Sort | undefined;
  onSort: ((sort: Sort) => void) | undefined;
};

function HeaderCell<Row>({ column, sort, onSort }: HeaderProps<Row>) {
  const direction = sort?.column === column.id ? sort.direction : undefined;
  const Arrow = direction === "descending" ? ArrowDown : ArrowUp;
  const flip = () =>
    onSort?.({ column: column.id, direction: direction === "ascending" ? "descending" : "ascending" });
  return (
    <th
      scope="col"
      aria-sort={column.isSortable ? (direction ?? "none") : undefined}
      className={clsx(
        "h-row px-3 text-start font-medium text-soft",
        column.align === "end" && "text-end",
        column.isSecondary && "max-md:hidden",
      )}
    >
      {column.isSortable && onSort ? (
        <button
          type="button"
          title={kitWords.sortBy(column.title)}
          onClick={flip}
          className={clsx(
            "group/sort -mx-1 inline-flex min-h-6 items-center gap-1 rounded-md px-1 hover:text-text",
            direction && "text-text",
          )}
        >
          {column.title}
          <Arrow
            aria-hidden
            className={clsx("size-3.5", !direction && "opacity-0 group-hover/sort:opacity-50")}
          />
        </button>
      ) : (
        column.title
      )}
    </th>
  );
}
