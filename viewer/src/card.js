// One chart: curves over time, drawn once, while a thin line moves with the clock. Pointing at it shows the values there.

import { drawAxes, span, trace } from "./axes.js";
import { make, tidy } from "./dom.js";
import { rowAt } from "./rows.js";

const LONGEST = 24; // letters of a name that are shown at most; all of it is in its title

export class Card {
  constructor(plot, plots) {
    Object.assign(this, { plot, plots, readouts: [] });
    this.canvas = make("canvas", { className: "plot", role: "img", "aria-label": `${plot.title} over time, in ${plot.unit}` });
    this.cursor = make("div", { className: "cursor" });
    this.pointer = make("div", { className: "cursor pointed", hidden: "" });
    this.values = make("div", { className: "values" });
    this.caption = make("span", { className: "caption" });
    this.frame = make("div", { className: "frame" }, this.canvas, this.cursor, this.pointer);
    this.element = make("section", { className: "card", "aria-label": plot.title },
      make("h2", {}, make("span", { text: plot.title }), make("span", { className: "unit", text: ` [${plot.unit}]` }), this.caption),
      this.frame, this.values);
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.point(event);
    });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    for (const name of ["pointerleave", "pointercancel"]) this.canvas.addEventListener(name, () => plots.pointAt(null));
    // The canvas has as many pixels as it covers of the screen, whenever that changes: text is never stretched.
    this.watcher = new ResizeObserver(([entry]) => this.resize(entry));
    try {
      this.watcher.observe(this.canvas, { box: "device-pixel-content-box" });
    } catch {
      this.watcher.observe(this.canvas);
    }
  }

  resize(entry) {
    const [box] = entry.devicePixelContentBoxSize ?? [];
    // A screen that is only emulated has its own ratio, which the box does not know.
    const known = box && Math.abs(box.inlineSize - window.devicePixelRatio * this.canvas.clientWidth) < 2;
    this.pixels = known ? { width: box.inlineSize, height: box.blockSize } : null;
    if (this.plots.begun) this.draw();
  }

  /** A pressed pointer seeks, one that hovers shows. */
  point(event) {
    if (!this.scales) return;
    const { left, right } = this.scales;
    const t = ((event.offsetX - left) / Math.max(this.canvas.clientWidth - left - right, 1)) * this.plots.clock.duration;
    if (event.buttons & 1) {
      this.plots.clock.seek(t);
      this.plots.pointAt(null);
    } else if (event.pointerType !== "touch") this.plots.pointAt(t);
  }

  draw() {
    const { canvas, plots } = this;
    const { clientWidth: width, clientHeight: height } = canvas;
    this.list(plots.curves(this.plot.key));
    if (!width || !height || this.element.hidden) return;
    const ratio = window.devicePixelRatio;
    canvas.width = this.pixels?.width ?? Math.round(width * ratio);
    canvas.height = this.pixels?.height ?? Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(canvas.width / width, canvas.height / height);
    this.caption.textContent = plots.mode === "runs" ? this.plot.wholeName : (plots.runs.length > 1 ? plots.focus.name : "");
    this.element.classList.toggle("empty", this.curves.length === 0);
    const { theme, clock } = plots;
    this.scales = drawAxes(pen, {
      width, height, duration: clock.duration, range: span(this.curves, this.plot.least),
      line: theme.text("--rule"), ink: theme.text("--faint"),
    });
    for (const curve of this.curves) trace(pen, curve, this.scales.x, this.scales.y, width);
    this.moveTo(clock.time, plots.pointed);
  }

  /** Names and values of the curves, in columns that are as wide as the longest name. */
  list(curves) {
    this.curves = curves;
    const longest = Math.min(Math.max(4, ...curves.map(({ name }) => name.length)), LONGEST);
    this.values.style.setProperty("--wide", `${longest + 9}ch`);
    this.readouts = curves.map((curve) => {
      const dot = make("i", {});
      dot.style.background = curve.colour;
      const value = make("b", {});
      const row = make("span", { title: curve.name }, dot, make("span", { className: "who", text: curve.name }), value);
      return { curve, value, row };
    });
    this.values.replaceChildren(...this.readouts.map(({ row }) => row));
  }

  /** The values of a moment: that of the clock, or the one that somebody points at. */
  moveTo(t, pointed) {
    if (!this.scales) return;
    const at = pointed ?? t;
    this.cursor.style.transform = `translateX(${this.scales.x(t)}px)`;
    this.pointer.hidden = pointed === null;
    if (pointed !== null) {
      this.pointer.style.transform = `translateX(${this.scales.x(pointed)}px)`;
      this.pointer.dataset.time = `${pointed.toFixed(2)} s`;
      this.pointer.classList.toggle("late", pointed > 0.6 * this.plots.clock.duration);
    }
    for (const { curve, value } of this.readouts) {
      value.textContent = curve.time.length ? tidy(curve.values[rowAt(curve.time, at).row]) : "–";
    }
  }

  /** What is said now: time [s] and value of each curve. */
  said() {
    const time = this.plots.pointed ?? this.plots.clock.time;
    const values = this.readouts.map(({ curve, value }) => {
      const { row } = rowAt(curve.time, time);
      return { name: curve.name, time: curve.time[row], value: curve.values[row], text: value.textContent };
    });
    return { time, values };
  }
}
