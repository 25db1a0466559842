// Curves of the last seconds, drawn again some times a second.

import { make, tidy } from "../dom.js";

const SPAN = 20; // seconds that are shown
const EVERY = 1 / 25; // seconds from one value to the next, at least
const DRAW = 90; // milliseconds from one drawing to the next
const PAD = { left: 44, right: 8, top: 6, bottom: 17 };

export class Curves {
  /** cards: { title, unit, names, least } each; least is the smallest range of values that is shown. */
  constructor(element, cards, theme, palette) {
    Object.assign(this, { theme, palette, drawnAt: 0 });
    this.cards = cards.map((card) => new Card(card, this));
    this.time = [];
    element.append(...this.cards.map((card) => card.element));
    theme.listen(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(element);
  }

  clear() {
    this.time = [];
    for (const card of this.cards) card.clear();
    this.draw();
  }

  colour(i) {
    return `#${this.theme.shade(this.palette[i % this.palette.length]).getHexString()}`;
  }

  /** values: of each card, one for each of its names. */
  add(time, values) {
    const last = this.time.at(-1);
    if (last !== undefined && time - last < EVERY) return;
    this.time.push(time);
    this.cards.forEach((card, i) => card.add(values[i]));
    const old = this.time.findIndex((t) => t >= time - SPAN);
    if (old > 200) {
      this.time.splice(0, old - 1);
      for (const card of this.cards) card.forget(old - 1);
    }
    const now = performance.now();
    if (now - this.drawnAt > DRAW) {
      this.drawnAt = now;
      this.draw();
    }
  }

  draw() {
    for (const card of this.cards) card.draw();
  }
}

class Card {
  constructor({ title, unit, names, least }, curves) {
    Object.assign(this, { names, least, curves, values: names.map(() => []) });
    this.canvas = make("canvas", { className: "plot", "aria-label": `${title} of the last ${SPAN} seconds` });
    this.readouts = names.map(() => make("b", { text: "–" }));
    this.dots = names.map(() => make("i", {}));
    this.element = make("section", { className: "card" },
      make("h2", {}, make("span", { text: title }), make("span", { className: "unit", text: ` [${unit}]` })),
      make("div", { className: "frame" }, this.canvas),
      make("div", { className: "values" }, ...names.map((name, i) => make(
        "span", { title: name }, this.dots[i], make("span", { className: "who", text: name }), this.readouts[i]))));
  }

  clear() {
    this.values = this.names.map(() => []);
    for (const one of this.readouts) one.textContent = "–";
  }

  add(values) {
    this.values.forEach((all, i) => all.push(values[i]));
  }

  forget(count) {
    for (const all of this.values) all.splice(0, count);
  }

  draw() {
    const { canvas, curves } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !height) return;
    const ratio = Math.min(window.devicePixelRatio, 2);
    if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
    if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const end = Math.max(curves.time.at(-1) ?? 0, SPAN);
    const [low, high] = range(this.values, this.least);
    const x = (t) => width - PAD.right - ((width - PAD.left - PAD.right) * (end - t)) / SPAN;
    const y = (v) => height - PAD.bottom - ((height - PAD.top - PAD.bottom) * (v - low)) / (high - low);
    this.axes(pen, x, y, [low, high], width, height, end);
    pen.save();
    pen.beginPath();
    pen.rect(PAD.left, 0, width - PAD.left, height);
    pen.clip();
    this.values.forEach((all, i) => {
      const colour = curves.colour(i);
      this.dots[i].style.background = colour;
      pen.strokeStyle = colour;
      pen.lineWidth = 1.5;
      pen.beginPath();
      all.forEach((v, k) => (Number.isFinite(v) ? pen.lineTo(x(curves.time[k]), y(v)) : undefined));
      pen.stroke();
      this.readouts[i].textContent = all.length ? tidy(all.at(-1)) : "–";
    });
    pen.restore();
  }

  axes(pen, x, y, [low, high], width, height, end) {
    const { theme } = this.curves;
    pen.font = "11px system-ui, sans-serif";
    pen.lineWidth = 1;
    pen.strokeStyle = theme.text("--rule");
    pen.fillStyle = theme.text("--faint");
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const step = roundStep((high - low) / (height > 120 ? 5 : 3.5));
    for (let v = Math.ceil(low / step) * step; v <= high + 1e-9 * step; v += step) {
      const level = Math.round(y(v)) + 0.5;
      pen.beginPath();
      pen.moveTo(PAD.left, level);
      pen.lineTo(width - PAD.right, level);
      pen.stroke();
      pen.fillText(label(v, step), PAD.left - 6, level);
    }
    pen.textAlign = "center";
    pen.textBaseline = "alphabetic";
    for (let t = Math.ceil((end - SPAN) / 5) * 5; t <= end; t += 5) {
      if (x(t) > PAD.left + 8 && x(t) < width - 14) pen.fillText(`${t} s`, x(t), height - 4);
    }
  }
}

function range(all, least) {
  let [low, high] = [Infinity, -Infinity];
  for (const values of all) {
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
  }
  if (!(low <= high)) [low, high] = [0, least];
  if (low >= 0) return [0, Math.max(1.08 * high, least)];
  const more = 0.5 * Math.max(least - (high - low), 0.1 * (high - low));
  return [low - more, high + more];
}

function roundStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= 0.8 * rough);
}

function label(value, step) {
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const text = (Math.abs(value) < 1e-9 * step ? 0 : value).toFixed(Math.min(digits, 4));
  return text.replace("-", "−");
}
