// A button that opens a list of actions above it. Escape, a click elsewhere, or a choice closes it.

import { make } from "./dom.js";

export class Menu {
  /** fill(list, item): called whenever it opens; item(text, act, hint) adds one. */
  constructor(text, title, fill) {
    this.fill = fill;
    this.button = make("button", {
      type: "button", text, title, "aria-haspopup": "true", "aria-expanded": "false", on: { click: () => this.open(this.list.hidden) },
    });
    this.list = make("div", { className: "menu-list", role: "group", "aria-label": title, hidden: "" });
    this.element = make("div", { className: "menu" }, this.button, this.list);
    this.element.addEventListener("keydown", (event) => this.press(event));
    document.addEventListener("pointerdown", (event) => {
      if (!this.list.hidden && !this.element.contains(event.target)) this.open(false);
    });
  }

  open(on) {
    this.list.hidden = !on;
    this.button.setAttribute("aria-expanded", String(on));
    if (!on) return;
    this.list.replaceChildren();
    this.fill((text, act, hint = "") => {
      const row = make("button", { type: "button", on: { click: () => { this.open(false); this.button.focus(); act(); } } },
        make("span", { text }), make("kbd", { text: hint }));
      if (!hint) row.lastChild.remove();
      this.list.append(row);
    });
    this.list.querySelector("button")?.focus();
  }

  press(event) {
    if (this.list.hidden) return;
    const rows = [...this.list.querySelectorAll("button")];
    const at = rows.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) rows[(at + step + rows.length) % rows.length].focus();
    else if (event.key === "Escape") {
      this.open(false);
      this.button.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
