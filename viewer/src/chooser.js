// Which charts are shown: a list of all that the runs have, remembered for the next page.

import { make } from "./dom.js";
import { recall, remember } from "./settings.js";

const FIRST = 4; // charts that a page shows unless somebody chooses

export class Chooser {
  /** plots: all that there are, by key; changed() is called when the choice does. */
  constructor(plots, changed) {
    this.plots = plots;
    this.changed = changed;
    this.shown = chosen(plots);
    this.count = make("span", {});
    this.list = make("div", { className: "choices" });
    this.inputs = plots.map((plot) => {
      const input = make("input", { type: "checkbox" });
      input.checked = this.shown.has(plot.key);
      input.addEventListener("change", () => this.choose(plot.key, input.checked));
      this.list.append(make("label", {}, input, make("span", { text: plot.title })));
      return input;
    });
    this.element = make("details", { className: "chooser" }, make("summary", {}, make("span", { text: "Charts" }), this.count), this.list);
    this.say();
  }

  choose(key, on) {
    if (on) this.shown.add(key);
    else this.shown.delete(key);
    remember("charts", [...this.shown].join(","), { shared: true });
    this.say();
    this.changed();
  }

  say() {
    this.plots.forEach((plot, i) => { this.inputs[i].checked = this.shown.has(plot.key); });
    const shown = this.plots.filter(({ key }) => this.shown.has(key)).length;
    this.count.textContent = ` ${shown} of ${this.plots.length}`;
  }
}

/** Keys that were chosen before, those of other pages among them; the first ones if none of them is here. */
function chosen(plots) {
  const known = new Set(plots.map(({ key }) => key));
  const before = recall("charts");
  const keys = (before ?? "").split(",").filter(Boolean);
  const none = before === "" || keys.some((key) => known.has(key));
  return new Set(none ? keys : plots.slice(0, FIRST).map(({ key }) => key));
}
