// A copy of the last picture over the canvas, for browsers that draw without a graphics card. While such a browser draws
// the fine picture, its canvas is empty for a while, and whoever prints the page just then, or takes a screenshot of it,
// would get a black one.

import { make } from "./dom.js";

export class Still {
  constructor(canvas) {
    this.canvas = canvas;
    this.copy = make("canvas", { className: "still", "aria-hidden": "true", hidden: "" });
    canvas.after(this.copy);
    // Without willReadFrequently the copy would be drawn by the same renderer, and be as late.
    this.pen = this.copy.getContext("2d", { willReadFrequently: true, alpha: false });
  }

  /** Show the picture that the canvas has now. */
  hold() {
    const { width, height } = this.canvas;
    if (this.copy.width !== width || this.copy.height !== height) Object.assign(this.copy, { width, height });
    this.pen.drawImage(this.canvas, 0, 0);
    this.copy.hidden = false;
  }

  /** The canvas itself is seen again. */
  release() {
    this.copy.hidden = true;
  }
}
