// Pointing at things: values of a wheel under the pointer; a click keeps them, or measures with the ruler.

import * as THREE from "three";
import { make } from "./dom.js";
import { factsOf, factsOfLine, said } from "./facts.js";
import { Marks } from "./marks.js";

const STILL = 5; // pixels that a click may move

export class Probe {
  /** panel, tip: elements; home: of the clock, the scene's origin [m] and the size of its vehicles [m]. */
  constructor({ panel, tip, stage, picker, clock, origin, size, theme, focus }) {
    Object.assign(this, { panel, tip, stage, picker, clock, origin, focus });
    this.marks = new Marks(stage.scene, 0.022 * size);
    theme.listen(() => this.marks.paint(theme.colour("--text")));
    this.found = null; // what was clicked
    this.ruling = false;
    this.points = []; // of the ruler
    this.listeners = [];
    const { canvas } = stage;
    canvas.addEventListener("pointerdown", (event) => { this.down = { x: event.clientX, y: event.clientY, button: event.button }; });
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointermove", (event) => this.hover(event));
    canvas.addEventListener("pointerleave", () => this.hideTip());
    clock.listen(() => this.moveTo());
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  release(event) {
    const { down } = this;
    this.down = null;
    const still = down && Math.hypot(event.clientX - down.x, event.clientY - down.y) < STILL;
    if (still && down.button === 0) this.click(event.clientX, event.clientY);
  }

  click(x, y) {
    this.hideTip();
    const found = this.picker.pick(x, y);
    if (!this.ruling) {
      this.keep(found);
      return;
    }
    if (!found) return;
    if (this.points.length === 2) this.points = [];
    this.points.push(found.point);
    this.show();
  }

  /** Once for each picture at most. */
  hover(event) {
    if (event.buttons || event.pointerType === "touch") {
      this.hideTip();
      return;
    }
    this.where = { x: event.clientX, y: event.clientY };
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      if (this.where) this.look();
    });
  }

  look() {
    const { x, y } = this.where;
    const found = this.picker.pick(x, y);
    const thing = found && found.kind !== "ground" && !this.ruling ? found : null;
    this.stage.canvas.style.cursor = this.ruling ? "crosshair" : thing ? "pointer" : "";
    if (this.ruling && this.points.length === 1 && found) {
      this.provisional = found.point;
      this.show();
    }
    this.under = thing;
    this.showTip();
  }

  showTip() {
    const { tip, under } = this;
    tip.hidden = !under;
    if (!under) return;
    this.fill(tip, factsOf(under, this.clock.time, this.origin));
    const room = this.stage.canvas.parentElement.getBoundingClientRect();
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const x = Math.min(this.where.x - room.left + 14, room.width - wide - 4);
    const y = this.where.y - room.top + 16 + high > room.height ? this.where.y - room.top - high - 10 : this.where.y - room.top + 16;
    tip.style.transform = `translate(${Math.max(x, 4)}px, ${Math.max(y, 4)}px)`;
  }

  hideTip() {
    this.where = null;
    this.under = null;
    this.tip.hidden = true;
  }

  /** Keep showing what was found; null: nothing. */
  keep(found) {
    this.found = found;
    this.show();
  }

  /** The next wheel of the vehicle that is followed, for those who do not point. */
  nextWheel() {
    const run = this.focus();
    if (!run) return;
    this.rule(false);
    const now = this.found?.kind === "wheel" && this.found.run === run ? this.found.wheel : -1;
    this.keep({ kind: "wheel", run, wheel: (now + 1) % run.wheels });
  }

  /** The ruler on or off. */
  rule(on) {
    this.ruling = on;
    this.points = [];
    this.provisional = null;
    if (on) this.found = null;
    this.stage.canvas.style.cursor = on ? "crosshair" : "";
    this.show();
    for (const listener of this.listeners) listener(this);
  }

  /** Away with what is shown. */
  clear() {
    this.found = null;
    this.rule(false);
  }

  facts() {
    if (this.ruling) {
      const [a, b] = [this.points[0], this.points[1] ?? this.provisional];
      return a && b ? factsOfLine(a, b) : { title: "Ruler", detail: a ? "Click the other end." : "Click two places.", rows: [] };
    }
    return this.found && factsOf(this.found, this.clock.time, this.origin);
  }

  show() {
    const facts = this.facts();
    this.panel.hidden = !facts;
    if (facts) this.fill(this.panel, facts, () => this.clear());
    this.marks.show(this.marked());
    this.stage.draw();
  }

  marked() {
    if (this.ruling) return [...this.points, ...(this.points.length === 1 && this.provisional ? [this.provisional] : [])];
    if (!this.found) return [];
    if (this.found.kind === "ground") return [this.found.point];
    if (this.found.kind === "part") return [];
    const { run, wheel } = this.found;
    const group = run.vehicle.groups[run.vehicle.wheels[wheel]];
    group.updateWorldMatrix(true, false);
    return [new THREE.Vector3().setFromMatrixPosition(group.matrixWorld)];
  }

  /** Values go along with the clock. */
  moveTo() {
    if (this.under) this.showTip();
    this.panel.setAttribute("aria-live", this.clock.playing ? "off" : "polite");
    if (!this.found || this.found.kind === "ground") return;
    this.fill(this.panel, this.facts(), () => this.clear());
    this.marks.show(this.marked());
  }

  /** Texts of an element; it is built anew only where it is about something else. */
  fill(element, { title, detail, rows }, close) {
    const about = [title, detail, ...rows.map(({ name }) => name)].join("\n");
    if (element.dataset.about !== about) {
      element.dataset.about = about;
      const list = make("dl", {});
      for (const row of rows) list.append(make("dt", { text: row.name }), make("dd", {}));
      const head = make("h2", {}, make("span", { text: title }));
      if (close) head.append(make("button", { type: "button", text: "×", "aria-label": "close", className: "close", on: { click: close } }));
      element.replaceChildren(head, ...(detail ? [make("small", { text: detail })] : []), list);
    }
    [...element.querySelectorAll("dd")].forEach((cell, i) => { cell.textContent = said(rows[i]); });
  }

  /** What the panel says, for tests and other programs. */
  state() {
    const facts = this.facts();
    const values = facts?.rows.map(({ key, value, text }) => [key, value ?? text]) ?? [];
    return facts && { title: facts.title, detail: facts.detail, ...Object.fromEntries(values) };
  }
}
