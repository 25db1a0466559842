// The legend: what is drawn, in which colour, and a switch for each.

import { make, tidy } from "./dom.js";

export class Legend {
  /** opened(pixels) is called with its width whenever it opens or closes. */
  constructor(element, opened) {
    this.element = element;
    this.opened = opened;
    this.body = make("div", { className: "legend-body" });
    this.fold = make("button", {
      className: "legend-fold", type: "button", text: "Legend", "aria-expanded": "true", on: { click: () => this.toggle() },
    });
    element.append(this.fold, this.body);
    this.open(window.innerWidth > 980);
  }

  open(on) {
    this.body.hidden = !on;
    this.fold.setAttribute("aria-expanded", String(on));
    this.opened(on ? this.element.offsetWidth : 0);
  }

  toggle() {
    this.open(this.body.hidden);
  }

  heading(text) {
    this.body.append(make("h2", { text }));
  }

  note(text) {
    this.body.append(make("p", { className: "note", text }));
  }

  /** A switch; returns its colour swatch, its input, its row and its small words. */
  entry({ name, detail = "", shape = "block", shown = true, disabled = false, change, choose }) {
    const input = make("input", { type: "checkbox", "aria-label": `show ${name}` });
    Object.assign(input, { checked: shown, disabled });
    input.addEventListener("change", () => change(input.checked));
    const swatch = make("span", { className: `swatch ${shape}` });
    const words = choose
      ? make("button", { type: "button", className: "name", title: "follow this run", on: { click: choose } })
      : make("span", { className: "name" });
    const small = make("small", { text: detail });
    words.append(make("span", { className: "label", text: name }), small);
    const row = make("div", { className: "entry" }, input, swatch, words);
    if (!choose) {
      row.addEventListener("click", (event) => {
        if (event.target !== input && !input.disabled) input.click();
      });
    }
    this.body.append(row);
    return { input, swatch, row, small };
  }

  /** The colours of slip, with the speed [m/s] of the last one. */
  slipScale(worst) {
    this.body.append(
      make("div", { className: "scale" }, make("span", { text: "0" }), make("span", { className: "slip-ramp" }),
        make("span", { text: `${tidy(worst)} m/s slip` })));
  }
}
