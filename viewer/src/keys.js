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
      const range = /[19]$/.test(keys[0]) && keys.length === 2; // from the first to the last
      const caps = keys.map((key) => make("kbd", { text: shown(key) }));
      list.append(make("dt", {}, caps[0], ...(range ? ["to ", caps[1]] : caps.slice(1))), make("dd", { text }));
    }
    dialog.setAttribute("aria-label", "Keys");
    dialog.append(
      make("h2", { text: "Keys" }), list,
      make("p", { className: "note", text: "Drag turns the view, two fingers or the right button move it, the wheel comes nearer. Click a wheel, a part or the ground for its values. Point at a chart for the values there; drag on it seeks." }),
      make("p", { className: "note", text: made }),
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
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target instanceof HTMLSelectElement || event.target.type === "number";
    // A button that was just hidden with a dialog may have the focus until the next picture.
    const onButton = (event.target instanceof HTMLButtonElement && event.target.offsetParent) || event.target.type === "checkbox";
    if (typing || (onButton && [" ", "Enter"].includes(event.key))) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const digit = event.shiftKey ? /^Digit([1-9])$/.exec(event.code)?.[1] : undefined; // with shift it writes another sign
    const act = this.actions.get(digit ? `Shift ${digit}` : event.shiftKey && event.key.length > 1 ? `Shift ${key}` : key);
    const asking = document.querySelector("dialog[open]");
    if (!act || (asking && !(asking === this.dialog && key === "?"))) return;
    event.preventDefault();
    act();
  }
}

function shown(key) {
  const names = { " ": "space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "esc" };
  const [last, shift] = key.startsWith("Shift ") ? [key.slice(6), "shift "] : [key, ""];
  return shift + (names[last] ?? (last.length === 1 ? last.toUpperCase() : last));
}
