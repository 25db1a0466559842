// Keys that do something once, and the page that lists them; those that drive are the stick's.

import { make } from "../dom.js";

export class Keys {
  /** rows: { keys, text, act } in the order of the list; without act the keys are handled elsewhere. */
  constructor(dialog, rows, notes) {
    this.dialog = dialog;
    this.actions = new Map();
    const list = make("dl", {});
    for (const { keys, shown, text, act } of rows) {
      if (act) keys.forEach((key) => this.actions.set(key, act));
      list.append(make("dt", {}, ...(shown ?? keys).map((key) => make("kbd", { text: key }))), make("dd", { text }));
    }
    dialog.append(make("h2", { text: "Keys" }), list, ...notes.map((text) => make("p", { className: "note", text })),
      make("button", { type: "button", text: "Close", on: { click: () => dialog.close() } }));
    window.addEventListener("keydown", (event) => this.press(event));
  }

  toggle() {
    if (this.dialog.open) this.dialog.close();
    else {
      this.dialog.showModal();
      this.dialog.scrollTop = 0; // the button below has the focus
    }
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target instanceof HTMLSelectElement) return;
    // A button that was just hidden with the dialog may have the focus until the next picture.
    if (event.target instanceof HTMLButtonElement && event.target.offsetParent && [" ", "Enter"].includes(event.key)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = this.actions.get(key);
    if (!act || (this.dialog.open && key !== "?")) return;
    event.preventDefault();
    act();
  }
}
