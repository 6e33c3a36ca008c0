import { h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { DataTable, isNumber } from "./table.jsx";

const shortNumber = (value) => String(Number(value.toPrecision(4)));

/** Gives a row of two runs, with difference and ratio where both are numbers. */
function compared([name, ...values], one, other) {
  const [a, b] = [values[one], values[other]];
  const numbers = isNumber(a) && isNumber(b);
  const [x, y] = [parseFloat(a), parseFloat(b)];
  return [name, a, b, numbers ? shortNumber(y - x) : "", numbers && x !== 0 ? shortNumber(y / x) : ""];
}

/** Copies the pictures of a run's sections; names inside them become others, since they must differ on a page. */
function picturesOf(run) {
  const sections = [...document.querySelectorAll("section[data-run]")].filter((section) => section.dataset.run === run);
  return sections.flatMap((section) => [...section.querySelectorAll(".narrow > svg")]).map((svg) => {
    const copy = svg.cloneNode(true);
    for (const named of copy.querySelectorAll("[id]")) named.id += "-beside";
    copy.setAttribute("aria-labelledby", copy.getAttribute("aria-labelledby").split(" ").map((id) => `${id}-beside`).join(" "));
    return copy;
  });
}

function Pictures({ run }) {
  const box = useRef();
  useEffect(() => box.current.replaceChildren(...picturesOf(run)), [run]);
  return <div><h3>{run}</h3><div class="copies" ref={box} /></div>;
}

/** Two runs side by side, out of a table with a column for each. */
export function Compare({ title, columns, rows }) {
  const runs = columns.slice(1);
  const [pair, setPair] = useState([0, 1]);
  const names = pair.map((i) => runs[i]);
  const choice = (place, label) => (
    <label>{label} <select value={pair[place]} onChange={(event) => setPair(pair.map((old, i) => (i === place ? Number(event.currentTarget.value) : old)))}>
      {runs.map((run, i) => <option value={i}>{run}</option>)}
    </select></label>
  );
  return (
    <div class="compare">
      <p class="tools">{choice(0, "Run")}{choice(1, "beside")}</p>
      <DataTable title={`${title}: ${names[0]} and ${names[1]}`} columns={["name", ...names, "difference", "ratio"]}
        rows={rows.map((row) => compared(row, ...pair)).filter((row) => row[1] || row[2])} />
      <details>
        <summary>Pictures of both</summary>
        <div class="beside">{names.map((run, i) => <Pictures run={run} key={i} />)}</div>
      </details>
      {runs.length > 2 && <details><summary>All {runs.length} runs</summary><DataTable title={title} columns={columns} rows={rows} /></details>}
    </div>
  );
}
