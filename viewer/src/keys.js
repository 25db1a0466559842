// Keys, and the page that lists them.

import { make } from "./dom.js";

/** rows: [keys, what they do, action]; the words are the help, so that it cannot fall behind. */
export class Keys {
  constructor(dialog, rows, made) {
    this.dialog = dialog;
    this.actions = new Map();
    const list = make("dl", {});
    for (const { keys, text, act } of rows) {
      for (const key of keys) this.actions.set(key, act);
      list.append(make("dt", {}, ...keys.map((key) => make("kbd", { text: shown(key) }))), make("dd", { text }));
    }
    dialog.append(
      make("h2", { text: "Keys" }), list,
      make("p", { className: "note", text: "Drag turns the view, two fingers or the right button move it, the wheel comes nearer. Drag on a curve seeks." }),
      make("p", { className: "note", text: made }),
      make("button", { type: "button", text: "Close", on: { click: () => dialog.close() } }));
    window.addEventListener("keydown", (event) => this.press(event));
  }

  toggle() {
    if (this.dialog.open) this.dialog.close();
    else this.dialog.showModal();
  }

  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLSelectElement;
    const onButton = event.target instanceof HTMLButtonElement || event.target.type === "checkbox";
    if (typing || (onButton && [" ", "Enter"].includes(event.key))) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const act = this.actions.get(event.shiftKey && event.key.length > 1 ? `Shift ${key}` : key);
    if (!act || (this.dialog.open && key !== "?")) return;
    event.preventDefault();
    act();
  }
}

function shown(key) {
  const names = { " ": "space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
  const [last, shift] = key.startsWith("Shift ") ? [key.slice(6), "shift "] : [key, ""];
  return shift + (names[last] ?? (last.length === 1 ? last.toUpperCase() : last));
}
