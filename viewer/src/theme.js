// Dark and light: the system's choice until somebody changes it. Colours are written once, in viewer.css.

import { Color } from "three";

const root = document.documentElement;

export class Theme {
  constructor() {
    this.listeners = [];
    const system = window.matchMedia("(prefers-color-scheme: light)");
    this.set(system.matches ? "light" : "dark");
    system.addEventListener("change", () => this.set(system.matches ? "light" : "dark"));
  }

  set(name) {
    this.name = name;
    root.dataset.theme = name;
    for (const listener of this.listeners) listener(this);
  }

  toggle() {
    this.set(this.name === "dark" ? "light" : "dark");
  }

  listen(listener) {
    this.listeners.push(listener);
    listener(this);
  }

  /** The value of a colour variable of the style sheet. */
  text(variable) {
    return getComputedStyle(root).getPropertyValue(variable).trim();
  }

  colour(variable) {
    return new Color(this.text(variable));
  }

  /** A colour of the palette, lighter where the page is dark, so that it reads. */
  shade(hex) {
    const colour = new Color(hex);
    return this.name === "dark" ? colour.offsetHSL(0, 0, 0.12) : colour;
  }
}

/** The colours of slip from none to much, those of the pictures (see view/style.py). */
const SLIP = ["#7FB8D8", "#0072B2", "#5B3A8C", "#B5245C", "#D55E00"].map((hex) => new Color(hex));

export function slipColour(part, out) {
  const at = Math.min(Math.max(part, 0), 1) * (SLIP.length - 1);
  const low = Math.min(Math.floor(at), SLIP.length - 2);
  return out.lerpColors(SLIP[low], SLIP[low + 1], at - low);
}
