import { h } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Curve } from "./thin.js";

// Colours and dashes go as in the pictures that hone draws, so that a curve looks the same in both.
const DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [12, 4], [1, 4], [6, 2, 2, 2]];
const STYLES = DASHES.length;
const dashOf = (i) => DASHES[(i + Math.floor(i / STYLES)) % STYLES];
const HEIGHT = 250;
const shortNumber = (value) => (value == null ? "" : String(Number(value.toPrecision(5))));

/** A plot and the part of the axis that it shows. */
class View {
  constructor(box, { x, y, series }, readout) {
    this.curves = series.map((each) => new Curve(each));
    const ends = this.curves.filter((curve) => curve.x.length > 0);
    this.left = Math.min(...ends.map((curve) => curve.x[0]));
    this.right = Math.max(...ends.map((curve) => curve.x.at(-1)));
    this.box = box;
    const colour = (name) => getComputedStyle(box).getPropertyValue(name);
    const axis = (label, size) => ({
      label, size, labelSize: 18, labelGap: 0, gap: 4, font: "12px system-ui, 'DejaVu Sans', sans-serif", labelFont: "12px system-ui, 'DejaVu Sans', sans-serif",
      stroke: () => colour("--soft"), grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false },
    });
    this.plot = new uPlot({
      width: box.clientWidth, height: HEIGHT, legend: { show: false },
      scales: { x: { time: false } },
      axes: [axis(x, 24), { ...axis(y, 56), values: (_, ticks) => ticks.map(shortNumber) }],
      series: [{}, ...series.map((each, i) => ({
        label: each.name, width: 1.5, dash: dashOf(i), stroke: () => colour(`--s${i % STYLES}`), points: { show: false },
      }))],
      cursor: { drag: { x: true, y: false, setScale: false } },
      hooks: {
        setSelect: [(plot) => {
          if (plot.select.width < 3) return;
          const { left, width } = plot.select;
          plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          this.show(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
        }],
        setCursor: [(plot) => readout(plot.cursor.idx == null ? null : plot.data.map((values) => values[plot.cursor.idx]))],
      },
    }, this.points(this.left, this.right), box);
    this.show(this.left, this.right);
  }

  points(from, to) {
    const most = 4 * Math.max(200, this.box.clientWidth);
    return uPlot.join(this.curves.map((curve) => curve.thinned(from, to, most)));
  }

  /** Shows a part of the axis, moved to where there is data. */
  show(from, to) {
    const whole = this.right - this.left || 1;
    const width = Math.min(to - from, whole);
    if (!(width > whole * 1e-9)) return;
    this.from = Math.max(this.left, Math.min(from, this.left + whole - width));
    this.to = this.from + width;
    this.plot.batch(() => {
      this.plot.setData(this.points(this.from, this.to), true);
      this.plot.setScale("x", { min: this.from, max: this.to });
    });
  }

  pan(share) {
    const by = share * (this.to - this.from);
    this.show(this.from + by, this.to + by);
  }

  zoom(factor, at = 0.5) {
    const width = this.to - this.from, middle = this.from + at * width;
    this.show(middle - at * width * factor, middle + (1 - at) * width * factor);
  }

  resize() {
    if (this.box.clientWidth === 0) return;
    this.plot.setSize({ width: this.box.clientWidth, height: HEIGHT });
    this.show(this.from, this.to);
  }
}

const KEYS = {
  ArrowLeft: (view) => view.pan(-0.2),
  ArrowRight: (view) => view.pan(0.2),
  "+": (view) => view.zoom(0.5),
  "-": (view) => view.zoom(2),
  Home: (view) => view.show(view.left, view.right),
};

/** Lets a mouse move the part that is seen (with Shift) and enlarge it (by the wheel, where the plot has the focus). */
function listen(view, box) {
  let last = null;
  const onDown = (event) => {
    if (!event.shiftKey) return;
    last = event.clientX;
    event.stopPropagation();
  };
  const onMove = (event) => {
    if (last === null) return;
    view.pan((last - event.clientX) / view.plot.over.clientWidth);
    last = event.clientX;
  };
  const onUp = () => { last = null; };
  const onWheel = (event) => {
    if (document.activeElement !== box) return;
    event.preventDefault();
    const over = view.plot.over.getBoundingClientRect();
    view.zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, (event.clientX - over.left) / over.width)));
  };
  box.addEventListener("mousedown", onDown, true);
  window.addEventListener("mousemove", onMove);
  window.addEventListener("mouseup", onUp);
  box.addEventListener("wheel", onWheel, { passive: false });
  new ResizeObserver(() => view.resize()).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => view.plot.redraw());
}

/** A picture of many points of which a part can be seen larger. */
export function Dense(picture) {
  const box = useRef(), view = useRef();
  const [hidden, setHidden] = useState([]);
  const [values, setValues] = useState(null);
  useEffect(() => {
    view.current = new View(box.current, picture, setValues);
    listen(view.current, box.current);
    box.current.view = view.current; // what measures the page moves it
  }, []);
  const act = (key) => KEYS[key](view.current);
  const onKeyDown = (event) => {
    if (!KEYS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event.key);
  };
  const toggle = (i) => {
    const shown = hidden.includes(i);
    setHidden(shown ? hidden.filter((each) => each !== i) : [...hidden, i]);
    view.current.plot.setSeries(i + 1, { show: shown });
  };
  const dashes = useMemo(() => picture.series.map((_, i) => dashOf(i).join(" ")), [picture.series]);
  return (
    <div class="dense">
      <h3>{picture.title}</h3>
      <p class="tools">
        {[["ArrowLeft", "\u2190", "Earlier"], ["ArrowRight", "\u2192", "Later"], ["+", "+", "Larger"], ["-", "\u2212", "Smaller"], ["Home", "All", "All of it"]].map(
          ([key, sign, name]) => <button type="button" aria-label={`${name}: ${picture.title}`} title={name} onClick={() => act(key)}>{sign}</button>)}
        <output>{values ? `${picture.x || "x"} ${shortNumber(values[0])}` : "Drag to enlarge, drag with Shift to move"}</output>
      </p>
      <p class="legend">
        {picture.series.map((each, i) => (
          <button type="button" aria-pressed={!hidden.includes(i)} onClick={() => toggle(i)}>
            <svg class="hone-chart" width="22" height="8" aria-hidden="true"><path class={`curve s${i % STYLES}`} stroke-dasharray={dashes[i]} d="M0 4H22" /></svg>
            {each.name}<span class="value">{values ? shortNumber(values[i + 1]) : ""}</span>
          </button>
        ))}
      </p>
      <div class="plot hone-chart" ref={box} tabIndex={0} role="group" onKeyDown={onKeyDown}
        aria-label={`${picture.title}: arrows move, plus and minus change the size, Home shows all`} />
    </div>
  );
}
