// The stick: arrow keys or WASD, a gamepad, or a thumb on the pad; as shares of the largest speeds, −1 to 1.

const KEYS = {
  arrowup: [1, 0, 0], w: [1, 0, 0], arrowdown: [-1, 0, 0], s: [-1, 0, 0],
  arrowleft: [0, 0, 1], a: [0, 0, 1], arrowright: [0, 0, -1], d: [0, 0, -1], q: [0, 1, 0], e: [0, -1, 0],
};
const DEAD = 0.12; // of a gamepad's stick
const REPEAT = 400; // milliseconds after which a stick that is held is told again
const POLL = 16;
const SLOW = 0.4; // share while shift is held

export class Stick {
  /** moved([forward, left, turn]) is called when it moves, and again and again while it is held. */
  constructor(pad, moved, buttons) {
    Object.assign(this, { moved, buttons, held: new Set(), thumb: [0, 0, 0], told: [0, 0, 0], toldAt: 0, slow: false });
    this.pressed = new Set();
    window.addEventListener("keydown", (event) => this.key(event, true));
    window.addEventListener("keyup", (event) => this.key(event, false));
    window.addEventListener("blur", () => this.letGo());
    document.addEventListener("visibilitychange", () => document.hidden && this.letGo());
    this.addPad(pad);
    window.addEventListener("gamepadconnected", () => this.poll());
    setInterval(() => this.tell(true), REPEAT / 2);
  }

  key(event, down) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.slow = event.shiftKey;
    const key = event.key.toLowerCase();
    if (!(key in KEYS) || document.querySelector("dialog[open]")) return this.tell();
    // A slider that was reached by tabs keeps its arrow keys.
    if (event.target.matches?.("select") || (event.target.matches?.("input[type=range]") && key.startsWith("arrow"))) return undefined;
    event.preventDefault();
    if (down) this.held.add(key);
    else this.held.delete(key);
    return this.tell();
  }

  letGo() {
    this.held.clear();
    this.thumb = [0, 0, 0];
    this.tell();
  }

  get value() {
    const sum = [...this.thumb];
    const share = this.slow ? SLOW : 1;
    for (const key of this.held) KEYS[key].forEach((part, i) => { sum[i] += share * part; });
    for (const [i, part] of this.pad().entries()) sum[i] += part;
    return sum.map((part) => Math.min(Math.max(part, -1), 1));
  }

  /** Of the first gamepad: left stick ahead and turn, right stick sideways. */
  pad() {
    const pad = this.gamepad();
    if (!pad) return [0, 0, 0];
    const axis = (i) => (Math.abs(pad.axes[i] ?? 0) < DEAD ? 0 : -pad.axes[i]);
    return [axis(1), axis(2), axis(0)];
  }

  gamepad() {
    return [...(navigator.getGamepads?.() ?? [])].find((one) => one?.connected);
  }

  poll() {
    const pad = this.gamepad();
    if (!pad) return;
    this.tell();
    for (const [i, act] of Object.entries(this.buttons)) {
      const down = pad.buttons[i]?.pressed ?? false;
      if (down && !this.pressed.has(i)) act();
      if (down) this.pressed.add(i);
      else this.pressed.delete(i);
    }
    setTimeout(() => this.poll(), POLL);
  }

  tell(again = false) {
    const value = this.value;
    const now = performance.now();
    const same = value.every((part, i) => Math.abs(part - this.told[i]) < 0.01);
    if (same && !(again && value.some((part) => part !== 0) && now - this.toldAt > REPEAT)) return;
    Object.assign(this, { told: value, toldAt: now });
    this.moved(value);
  }

  addPad(pad) {
    const knob = pad.firstElementChild;
    const move = (event) => {
      const box = pad.getBoundingClientRect();
      const [x, y] = [event.clientX, event.clientY].map((at, i) => (at - (i ? box.top : box.left)) / (box.width / 2) - 1);
      const far = Math.max(1, Math.hypot(x, y));
      this.thumb = [-y / far, 0, -x / far];
      knob.style.transform = `translate(${(36 * x) / far}px, ${(36 * y) / far}px)`;
      this.tell();
    };
    pad.addEventListener("pointerdown", (event) => {
      pad.setPointerCapture(event.pointerId);
      move(event);
    });
    pad.addEventListener("pointermove", (event) => event.buttons && move(event));
    for (const name of ["pointerup", "pointercancel"]) {
      pad.addEventListener(name, () => {
        knob.style.transform = "";
        this.letGo();
      });
    }
  }
}
