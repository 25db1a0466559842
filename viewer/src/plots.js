// Curves over time, each on its own canvas; drawn once, while a thin line moves with the clock. Drag on them to seek.

import { decode } from "./decode.js";
import { make, tidy } from "./dom.js";
import { rowAt } from "./rows.js";

const PAD = { left: 46, right: 10, top: 6, bottom: 18 };

export class Plots {
  constructor(element, runs, clock, theme, palette) {
    Object.assign(this, { element, runs, clock, theme, palette, mode: runs.length > 1 ? "runs" : "parts", focus: runs[0] });
    this.cards = [];
    const keys = new Map();
    for (const run of runs) {
      run.plots = new Map(run.data.plots.map((plot) => [plot.key, plot]));
      for (const plot of run.data.plots) if (!keys.has(plot.key)) keys.set(plot.key, plot);
    }
    if (runs.length > 1 && keys.size) element.append(this.switcher());
    for (const plot of keys.values()) this.cards.push(new Card(plot, this));
    element.append(...this.cards.map((card) => card.element));
    element.hidden = keys.size === 0;
    theme.listen(() => this.draw());
  }

  /** Draw for the first time, and again whenever there is more or less room. */
  begin() {
    this.begun = true;
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  switcher() {
    const button = (mode, text) => make("button", {
      type: "button", text, "aria-pressed": String(this.mode === mode), on: { click: () => this.setMode(mode) },
    });
    this.buttons = { runs: button("runs", "Compare runs"), parts: button("parts", "One run") };
    return make("div", { className: "segments" }, this.buttons.runs, this.buttons.parts);
  }

  setMode(mode) {
    this.mode = mode;
    for (const [name, button] of Object.entries(this.buttons ?? {})) button.setAttribute("aria-pressed", String(name === mode));
    this.draw();
  }

  setFocus(run) {
    this.focus = run;
    this.draw();
  }

  draw() {
    if (this.element.hidden || !this.begun) return;
    for (const card of this.cards) card.draw();
    this.moveTo(this.clock.time);
  }

  moveTo(t) {
    if (this.element.hidden || !this.begun) return;
    for (const card of this.cards) card.moveTo(t);
  }

  /** What one card shows: curves with names, colours, times and values. */
  curves(key) {
    if (this.mode === "parts") {
      if (!this.focus?.plots.has(key)) return [];
      const plot = decoded(this.focus.plots.get(key));
      return plot.names.map((name, i) => ({
        name, time: this.focus.vehicle.time, values: plot.curves[i], colour: this.colour(i),
      }));
    }
    return this.runs.filter((run) => run.shown && run.plots.has(key)).map((run) => ({
      name: run.name, time: run.vehicle.time, values: decoded(run.plots.get(key)).whole, colour: `#${run.colour.getHexString()}`,
    }));
  }

  colour(i) {
    return `#${this.theme.shade(this.palette[i % this.palette.length]).getHexString()}`;
  }
}

/** A plot with its arrays, decoded when it is first drawn. */
function decoded(plot) {
  if (!plot.drawn) {
    const all = decode(plot.curves);
    const [count, rows] = all.shape;
    const curves = Array.from({ length: count }, (_, i) => all.subarray(i * rows, (i + 1) * rows));
    plot.drawn = { names: plot.names, curves, whole: decode(plot.whole) };
  }
  return plot.drawn;
}

class Card {
  constructor(plot, plots) {
    Object.assign(this, { plot, plots });
    this.canvas = make("canvas", { className: "plot", "aria-label": `${plot.title} over time` });
    this.cursor = make("div", { className: "cursor" });
    this.values = make("div", { className: "values" });
    this.caption = make("span", { className: "caption" });
    this.element = make("section", { className: "card" },
      make("h2", {}, make("span", { text: plot.title }), make("span", { className: "unit", text: ` [${plot.unit}]` }), this.caption),
      make("div", { className: "frame" }, this.canvas, this.cursor), this.values);
    const seek = (event) => {
      if (event.buttons & 1) this.seek(event.offsetX);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      seek(event);
    });
    this.canvas.addEventListener("pointermove", seek);
  }

  seek(x) {
    const wide = this.canvas.clientWidth - PAD.left - PAD.right;
    this.plots.clock.seek(((x - PAD.left) / wide) * this.plots.clock.duration);
  }

  draw() {
    const { canvas, plots } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    const ratio = Math.min(window.devicePixelRatio, 2);
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.curves = plots.curves(this.plot.key);
    this.caption.textContent = plots.mode === "runs" ? this.plot.wholeName : (plots.runs.length > 1 ? plots.focus.name : "");
    this.element.classList.toggle("empty", this.curves.length === 0);
    const [low, high] = span(this.curves, this.plot.least);
    const x = (t) => PAD.left + ((width - PAD.left - PAD.right) * t) / Math.max(plots.clock.duration, 1e-9);
    const y = (v) => height - PAD.bottom - ((height - PAD.top - PAD.bottom) * (v - low)) / (high - low);
    this.axes(pen, x, y, [low, high], width, height);
    for (const curve of this.curves) trace(pen, curve, x, y, width);
    this.list();
  }

  axes(pen, x, y, [low, high], width, height) {
    const { theme, clock } = this.plots;
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.strokeStyle = theme.text("--rule");
    pen.fillStyle = theme.text("--faint");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const v of ticks(low, high, 4)) {
      pen.beginPath();
      pen.moveTo(PAD.left, Math.round(y(v)) + 0.5);
      pen.lineTo(width - PAD.right, Math.round(y(v)) + 0.5);
      pen.stroke();
      pen.fillText(label(v, high - low), PAD.left - 6, y(v));
    }
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    const last = ticks(0, clock.duration, 5);
    last.forEach((t, i) => pen.fillText(`${label(t, clock.duration)}${i === last.length - 1 ? " s" : ""}`, Math.min(x(t), width - 18), height - 4));
  }

  list() {
    this.readouts = this.curves.map((curve) => {
      const dot = make("i", {});
      dot.style.background = curve.colour;
      const value = make("b", {});
      this.values.append(make("span", {}, dot, make("span", { className: "who", text: curve.name }), value));
      return { curve, value };
    });
    while (this.values.children.length > this.curves.length) this.values.firstChild.remove();
  }

  moveTo(t) {
    const wide = this.canvas.clientWidth - PAD.left - PAD.right;
    this.cursor.style.transform = `translateX(${PAD.left + (wide * t) / Math.max(this.plots.clock.duration, 1e-9)}px)`;
    for (const { curve, value } of this.readouts ?? []) {
      value.textContent = curve.time.length ? tidy(curve.values[rowAt(curve.time, t).row]) : "–";
    }
  }
}

/** Lowest and highest value, widened so that curves that are constant but for rounding look constant. */
function span(curves, least) {
  let [low, high] = [Infinity, -Infinity];
  for (const { values } of curves) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low <= high)) return [0, 1];
  const more = Math.max(least - (high - low), 0.08 * (high - low)) / 2;
  return [low >= 0 && low < 0.3 * high ? 0 : low - more, high + more];
}

/** A line through the values; where there are more than pixels, the lowest and highest of each pixel. */
function trace(pen, { time, values, colour }, x, y, width) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.beginPath();
  const each = Math.max(1, Math.floor(values.length / (2 * width)));
  for (let i = 0; i < values.length; i += each) {
    let [low, high] = [i, i];
    for (let k = i; k < Math.min(i + each, values.length); k++) {
      if (values[k] < values[low]) low = k;
      if (values[k] > values[high]) high = k;
    }
    for (const k of low <= high ? [low, high] : [high, low]) pen.lineTo(x(time[k]), y(values[k]));
  }
  pen.stroke();
}

function ticks(low, high, wanted) {
  const rough = (high - low) / wanted;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let v = Math.ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step) found.push(v);
  return found;
}

function label(value, range) {
  const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10(range / 2))));
  const rounded = Number(value.toFixed(digits));
  if (Math.abs(rounded) >= 1e5) return rounded.toExponential(1);
  return String(Math.abs(rounded) >= 1000 ? Math.round(rounded) : rounded).replace("-", "−");
}
