// Pictures and videos to keep: a dialog that asks for the size.

import { make } from "./dom.js";
import { Snapshot } from "./snapshot.js";
import { CANNOT, encoding, record } from "./video.js";

const SIZES = [[1280, 720], [1920, 1080], [3840, 2160], [1080, 1080]];
const RATE = 30; // pictures a second
const LARGEST = 8192; // pixels each way

export class Exporter {
  constructor(dialog, { stage, clock, title }) {
    Object.assign(this, { dialog, stage, clock, title });
    this.size = make("select", { "aria-label": "size", on: { change: () => this.choose() } });
    [this.width, this.height] = ["width", "height"].map((name) => make("input", {
      type: "number", min: 16, max: LARGEST, step: 2, "aria-label": `${name} in pixels`, on: { input: () => this.check() },
    }));
    this.said = make("p", { className: "note", role: "status" });
    this.bar = make("progress", { max: 1, value: 0, hidden: "", "aria-label": "progress of the video" });
    const button = (text, act) => make("button", { type: "button", text, on: { click: act } });
    this.picture = button("Save picture (PNG)", () => this.savePicture());
    this.video = button("Save video (WebM)", () => this.saveVideo());
    this.close = button("Close", () => this.dialog.close());
    dialog.setAttribute("aria-label", "Picture or video");
    dialog.append(
      make("h2", { text: "Picture or video" }),
      make("p", { className: "note", text: `The scene as the camera sees it, without the panels. A video plays the whole run at the speed of the page, ${RATE} pictures a second.` }),
      make("div", { className: "fields" }, this.size, this.width, make("span", { text: "×" }), this.height, make("span", { text: "pixels" })),
      make("div", { className: "buttons" }, this.picture, this.video, this.close), this.bar, this.said);
    dialog.addEventListener("close", () => { this.stop = true; });
  }

  open() {
    const { clientWidth, clientHeight } = this.stage.canvas.parentElement;
    const ratio = window.devicePixelRatio;
    const here = [Math.round(clientWidth * ratio), Math.round(clientHeight * ratio)];
    const sizes = [here, ...SIZES].map(([w, h], i) => make("option", { value: `${w} ${h}`, text: i ? `${w} × ${h}` : "as on the screen" }));
    this.size.replaceChildren(...sizes, make("option", { value: "", text: "other" }));
    this.choose();
    this.stop = false;
    this.dialog.showModal();
  }

  choose() {
    if (this.size.value) [this.width.value, this.height.value] = this.size.value.split(" ");
    this.check();
  }

  /** Width and height [px]; what the browser cannot do is said. */
  async check() {
    const [width, height] = [this.width, this.height].map((input) => input.valueAsNumber);
    const good = [width, height].every((n) => Number.isInteger(n) && n >= 16 && n <= LARGEST);
    const able = good && this.stage.renderer !== null;
    this.picture.disabled = !able;
    this.video.disabled = true;
    const blind = this.stage.renderer === null ? "This browser cannot draw in 3D here, so there is nothing to save." : "";
    this.said.textContent = good ? blind : `Give whole numbers of pixels from 16 to ${LARGEST}.`;
    if (!this.size.value.startsWith(`${width} ${height}`)) this.size.value = "";
    if (!able || this.clock.duration <= 0) return;
    const found = await encoding(even(width), even(height), RATE);
    if (this.width.valueAsNumber !== width || this.height.valueAsNumber !== height) return;
    this.video.disabled = !found;
    if (!found) this.said.textContent = CANNOT;
  }

  async savePicture() {
    const snapshot = new Snapshot(this.stage, this.width.valueAsNumber, this.height.valueAsNumber);
    try {
      const drawn = snapshot.draw();
      download(await new Promise((done) => drawn.toBlob(done, "image/png")), `${this.name}.png`);
    } finally {
      snapshot.end();
    }
  }

  async saveVideo() {
    const [width, height] = [even(this.width.valueAsNumber), even(this.height.valueAsNumber)];
    const { stage, clock } = this;
    const progress = (part) => { this.bar.value = part; };
    this.working(true);
    this.stop = false;
    try {
      const film = await record({ stage, clock, width, height, rate: RATE, speed: clock.speed, progress, stopped: () => this.stop });
      if (film) download(film, `${this.name}.webm`);
      this.said.textContent = film ? `Saved ${this.name}.webm, ${(film.size / 1e6).toFixed(1)} MB.` : "";
    } catch (error) {
      this.said.textContent = error.message;
    } finally {
      this.working(false);
    }
  }

  working(on) {
    this.bar.hidden = !on;
    for (const one of [this.picture, this.video, this.size, this.width, this.height]) one.disabled = on;
    this.close.textContent = on ? "Stop" : "Close";
  }

  get name() {
    return this.title.replaceAll(/[^\p{L}\p{N}]+/gu, "-").replaceAll(/^-+|-+$/g, "").slice(0, 60) || "run";
  }
}

/** Encoders take even numbers of pixels. */
function even(pixels) {
  return pixels - (pixels % 2);
}

function download(blob, name) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
