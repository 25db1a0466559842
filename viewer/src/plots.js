// The charts beside the scene: which are shown, of one run or of all, and what they say of a moment.

import { Card } from "./card.js";
import { Chooser } from "./chooser.js";
import { decode } from "./decode.js";
import { make } from "./dom.js";

export class Plots {
  constructor(element, runs, clock, theme, palette) {
    Object.assign(this, { element, runs, clock, theme, palette, mode: runs.length > 1 ? "runs" : "parts", focus: runs[0] });
    this.pointed = null; // time [s] that somebody points at
    const keys = new Map();
    for (const run of runs) {
      run.plots = new Map(run.data.plots.map((plot) => [plot.key, plot]));
      for (const plot of run.data.plots) if (!keys.has(plot.key)) keys.set(plot.key, plot);
    }
    const plots = [...keys.values()];
    this.cards = plots.map((plot) => new Card(plot, this));
    element.hidden = keys.size === 0;
    if (keys.size) {
      this.chooser = new Chooser(plots, () => this.show());
      const head = make("div", { className: "head" }, this.chooser.element);
      if (runs.length > 1) head.prepend(this.switcher());
      element.append(head, ...this.cards.map((card) => card.element));
      this.show();
    }
    theme.listen(() => this.draw());
  }

  /** Draw for the first time; each chart draws itself again whenever it has more or less room. */
  begin() {
    this.begun = true;
    this.draw();
  }

  show() {
    for (const card of this.cards) card.element.hidden = !this.chooser.shown.has(card.plot.key);
    this.draw();
  }

  get drawn() {
    return this.cards.filter((card) => !card.element.hidden);
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
    for (const card of this.drawn) card.draw();
  }

  moveTo(t) {
    if (this.element.hidden || !this.begun) return;
    for (const card of this.drawn) card.moveTo(t, this.pointed);
  }

  /** Show the values at a time [s] that somebody points at, in all charts; null: those of the clock. */
  pointAt(t) {
    this.pointed = t === null ? null : Math.min(Math.max(t, 0), this.clock.duration);
    this.moveTo(this.clock.time);
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
export function decoded(plot) {
  if (!plot.drawn) {
    const all = decode(plot.curves);
    const [count, rows] = all.shape;
    const curves = Array.from({ length: count }, (_, i) => all.subarray(i * rows, (i + 1) * rows));
    plot.drawn = { names: plot.names, curves, whole: plot.whole ? decode(plot.whole) : curves[0] };
  }
  return plot.drawn;
}
