// Beside the picture: numbers of now, and sliders for speed, friction, soil and payload.

import { make, tidy } from "../dom.js";

const SOILS = { own: "as it was started", "piecewise-linear": "firm ground", pacejka: "tyre on firm ground", terramechanics: "loose soil" };
const PAUSE = 120; // milliseconds between two posts of a slider that moves

export class Panel {
  /** change({ name: value }) posts a setting. */
  constructor(element, scene, change) {
    Object.assign(this, { change, scene, sliders: {}, numbers: {} });
    element.append(this.readouts(), this.settings());
  }

  readouts() {
    const list = make("dl", { id: "numbers" });
    const rows = [["speed", "m/s"], ["slip", "%"], ["margin", "°", "tip margin"], ["tilt", "°"], ["power", "W"], ["distance", "m"]];
    for (const [name, unit, words] of rows) {
      if (name === "power" && !this.scene.dynamic) continue;
      this.numbers[name] = make("b", { text: "–", id: `now-${name}` });
      list.append(make("div", {}, make("dt", { text: words ?? name }), make("dd", {}, this.numbers[name], make("span", { className: "unit", text: ` ${unit}` }))));
    }
    return list;
  }

  settings() {
    const { ranges, soils, dynamic, mass } = this.scene;
    const box = make("div", { id: "settings" });
    box.append(this.slider("speed", "speed limit", ranges.speed, 0.05, (v) => `${v.toFixed(2)} m/s`));
    if (!dynamic) {
      box.append(make("p", { className: "note", text: "A kinematic model has no forces: friction, soil and mass change nothing." }));
      return box;
    }
    box.append(this.slider("friction", "friction", ranges.friction, 0.01, (v) => v.toFixed(2)));
    if (soils.length > 1) {
      this.soil = make("select", { id: "soil", "aria-label": "soil", on: { change: () => this.change({ soil: this.soil.value }) } });
      this.soil.append(...soils.map((name) => make("option", { value: name, text: SOILS[name] ?? name.replaceAll("_", " ") })));
      box.append(make("label", { className: "setting" }, make("span", { text: "soil" }), this.soil));
    }
    if (ranges.payload[1] > 0) {
      const step = ranges.payload[1] / 100;
      box.append(this.slider("payload", "mass", ranges.payload, step, (v) => `${tidy(mass + v)} kg`));
    }
    return box;
  }

  slider(name, words, [least, most], step, text) {
    const output = make("output", { for: name });
    const input = make("input", { type: "range", id: name, min: least, max: most, step, "aria-label": words });
    const one = { input, output, text, held: false, at: 0 };
    this.sliders[name] = one;
    const post = () => {
      clearTimeout(one.later);
      const wait = one.at + PAUSE - performance.now();
      if (wait > 0) {
        one.later = setTimeout(post, wait);
        return;
      }
      one.at = performance.now();
      this.change({ [name]: input.valueAsNumber });
    };
    input.addEventListener("input", () => {
      one.held = true;
      output.textContent = text(input.valueAsNumber);
      post();
    });
    input.addEventListener("change", () => {
      one.held = false;
    });
    // Once it is let go, arrow keys drive again.
    input.addEventListener("pointerup", () => input.blur());
    return make("label", { className: "setting" }, make("span", { text: words }), input, output);
  }

  /** Settings as the simulation has them. */
  show(settings) {
    for (const [name, one] of Object.entries(this.sliders)) {
      const value = settings[name];
      const known = value !== null && value !== undefined;
      one.input.disabled = !known;
      if (one.held) continue;
      if (known) one.input.value = value;
      one.output.textContent = known ? one.text(value) : "none";
    }
    if (this.soil) this.soil.value = settings.soil;
  }

  now(frame) {
    const degrees = (angle) => (angle * 180) / Math.PI;
    const values = {
      speed: frame.speed, slip: 100 * frame.slip, margin: degrees(frame.margin), tilt: degrees(frame.tilt),
      power: frame.power, distance: frame.distance,
    };
    const digits = { speed: 2, slip: 0, margin: 1, tilt: 1, power: 0, distance: 1 };
    for (const [name, element] of Object.entries(this.numbers)) {
      const text = Number.isFinite(values[name]) ? values[name].toFixed(digits[name]).replace("-", "−").replace(/^−(0\.?0*)$/, "$1") : "–";
      if (element.textContent !== text) element.textContent = text;
    }
    this.numbers.margin.classList.toggle("bad", frame.margin < 0.09);
  }
}
