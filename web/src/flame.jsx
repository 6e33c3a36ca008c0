import { h } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";

const ROW = 24; // pixels
const LEAST = 0.001; // share of the width below which a frame is left out

/** Makes frames of [depth, name, value] in the order of a walk; each knows its place and its parent. */
export function framesOf(list) {
  const path = [];
  return list.map(([depth, name, known], index) => {
    const value = known ?? 0; // JSON has no infinity
    path.length = depth;
    const parent = path[depth - 1] || null;
    const left = parent ? parent.next : 0;
    const frame = { index, depth, name, value, parent, left, next: left };
    if (parent) parent.next += value;
    path.push(frame);
    return frame;
  });
}

const within = (frame, root) => frame === root || (frame.parent !== null && within(frame.parent, root));

/** Sums up frames; what lies in one that counts already does not count again. */
function sumOf(found) {
  const counts = new Set(found);
  const inside = (frame) => frame !== null && (counts.has(frame) || inside(frame.parent));
  return found.reduce((sum, frame) => sum + (inside(frame.parent) ? 0 : frame.value), 0);
}

const KEYS = {
  ArrowUp: (shown, at) => at.parent,
  ArrowDown: (shown, at) => shown.find((frame) => frame.parent === at),
  ArrowLeft: (shown, at) => shown.filter((frame) => frame.depth === at.depth && frame.left < at.left).at(-1),
  ArrowRight: (shown, at) => shown.find((frame) => frame.depth === at.depth && frame.left > at.left),
};

/** A flame graph: a frame is as wide as its share of the one that fills the width, which a click chooses. */
export function Flame({ title, unit, frames: list }) {
  const frames = useMemo(() => framesOf(list), [list]);
  const [root, setRoot] = useState(frames[0]);
  const [at, setAt] = useState(frames[0]);
  const [query, setQuery] = useState("");
  const box = useRef();
  if (!root) return null;
  const shown = frames.filter((frame) => within(root, frame) || (within(frame, root) && frame.value >= LEAST * root.value));
  const wanted = query.trim().toLowerCase();
  const found = wanted ? frames.filter((frame) => frame.name.toLowerCase().includes(wanted)) : [];
  const percent = (value) => `${(frames[0].value > 0 ? (100 * value) / frames[0].value : 0).toFixed(1)}%`;
  const says = (frame) => `${frame.name}: ${Number(frame.value.toPrecision(4))} ${unit}, ${percent(frame.value)}`;
  const place = (frame) => {
    const above = within(root, frame); // what holds the root is as wide as the root
    return {
      left: `${above ? 0 : (100 * (frame.left - root.left)) / root.value}%`,
      width: `${above ? 100 : (100 * frame.value) / root.value}%`,
      top: `${frame.depth * ROW}px`,
    };
  };
  const focusOn = (frame) => {
    setAt(frame);
    box.current.querySelector(`[data-frame="${frame.index}"]`)?.focus();
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape") setRoot(frames[0]);
    const next = KEYS[event.key]?.(shown, at);
    if (KEYS[event.key]) event.preventDefault();
    if (next) focusOn(next);
  };
  return (
    <div class="dense">
      <h3>{title}</h3>
      <p class="tools">
        <label>Search <input type="search" value={query} aria-label={`Search ${title}`} placeholder="a name" onInput={(event) => setQuery(event.currentTarget.value)} /></label>
        <button type="button" disabled={root === frames[0]} onClick={() => setRoot(frames[0])}>All</button>
        <output>{wanted ? `${found.length} found, ${percent(sumOf(found))}` : says(at)}</output>
      </p>
      <div class="flame hone-chart" ref={box} role="group" aria-label={`${title}: arrows move, Enter enlarges, Escape shows all`} onKeyDown={onKeyDown}
        style={{ height: `${ROW * (1 + Math.max(...frames.map((frame) => frame.depth)))}px` }}>
        {shown.map((frame) => (
          <button type="button" key={frame.index} data-frame={frame.index} tabIndex={frame === at ? 0 : -1} style={place(frame)} title={says(frame)} aria-label={says(frame)}
            class={`bar t${frame.depth % 8} ${wanted ? (found.includes(frame) ? "found" : "dim") : ""}`}
            onFocus={() => setAt(frame)} onMouseEnter={() => setAt(frame)} onClick={() => setRoot(frame)}>{frame.name}</button>
        ))}
      </div>
    </div>
  );
}
