import { h } from "preact";
import { useMemo, useState } from "preact/hooks";

const NUMBER = /^[-+]?[\d.]+(e[-+]?\d+)?%?( \(.*\))?$/;
const words = new Intl.Collator("en", { numeric: true });

/** Reads a table of the page: its title, the names of its columns, and its cells as texts. */
export function readTable(table) {
  const texts = (row) => [...row.cells].map((cell) => cell.textContent);
  return {
    title: table.caption.textContent,
    columns: texts(table.tHead.rows[0]),
    rows: [...table.tBodies[0].rows].map(texts),
  };
}

export const isNumber = (text) => NUMBER.test(text);

/** Orders texts, numbers by their size; what is empty or no number among numbers comes last. */
function ordered(rows, column, down) {
  const numeric = rows.every((row) => !row[column] || isNumber(row[column]));
  const key = (row) => (numeric ? parseFloat(row[column]) : row[column]);
  const last = (value) => value === "" || Number.isNaN(value);
  return [...rows].sort((one, other) => {
    const a = key(one), b = key(other);
    if (last(a) || last(b)) return last(a) - last(b);
    return (down ? -1 : 1) * (numeric ? a - b : words.compare(a, b));
  });
}

/** A table that sorts by its columns' names and, where it is long, keeps rows whose texts hold some words. */
export function DataTable({ title, columns, rows }) {
  const [order, setOrder] = useState({ column: -1, down: false });
  const [query, setQuery] = useState("");
  const numeric = useMemo(
    () => columns.map((_, i) => rows.some((row) => isNumber(row[i])) && rows.every((row) => !row[i] || isNumber(row[i]))),
    [columns, rows]);
  const shown = useMemo(() => {
    const wanted = query.toLowerCase().split(/\s+/);
    const kept = rows.filter((row) => {
      const text = row.filter((cell) => !isNumber(cell)).join(" ").toLowerCase();
      return wanted.every((word) => text.includes(word));
    });
    return order.column < 0 ? kept : ordered(kept, order.column, order.down);
  }, [rows, query, order]);
  const sortBy = (column) =>
    setOrder(order.column === column ? { column, down: !order.down } : { column, down: numeric[column] });
  const direction = (i) => (i !== order.column ? "none" : order.down ? "descending" : "ascending");
  const FEW = 8;
  return (
    <div class="table">
      {rows.length > FEW && (
        <p class="tools">
          <label>Filter <input type="search" value={query} aria-label={`Filter ${title}`} placeholder="words" onInput={(event) => setQuery(event.currentTarget.value)} /></label>
          <output>{query && `${shown.length} of ${rows.length} rows`}</output>
        </p>
      )}
      <div class="wide" tabIndex={0} role="group" aria-label={title}>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              {columns.map((name, i) => (
                <th scope="col" class={numeric[i] ? "number" : ""} aria-sort={direction(i)}>
                  <button type="button" onClick={() => sortBy(i)}>
                    {name}<span class="arrow" aria-hidden="true">{{ none: "\u2195", ascending: "\u2191", descending: "\u2193" }[direction(i)]}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr>{row.map((cell) => <td class={isNumber(cell) ? "number" : ""}>{cell}</td>)}</tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
