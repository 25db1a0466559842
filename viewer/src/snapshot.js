// Pictures of the scene at any size, finely drawn, while the page waits.

import * as THREE from "three";
import { make } from "./dom.js";

const SMOOTHED = 1.5; // pixels drawn for each one, each way, where nothing else smooths edges

export class Snapshot {
  /** width, height: of the pictures [px]. */
  constructor(stage, width, height) {
    Object.assign(this, { stage, width, height });
    this.canvas = make("canvas", { width, height });
    this.pen = this.canvas.getContext("2d", { alpha: false });
    const { renderer, camera } = stage;
    this.before = { fine: stage.fine, ratio: renderer.getPixelRatio(), size: renderer.getSize(new THREE.Vector2()) };
    stage.held = true;
    stage.still?.hold();
    stage.showFine(true);
    const gl = renderer.getContext();
    const most = Math.min(gl.getParameter(gl.MAX_RENDERBUFFER_SIZE), ...gl.getParameter(gl.MAX_VIEWPORT_DIMS));
    renderer.setPixelRatio(Math.min(stage.smooth ? 1 : SMOOTHED, most / Math.max(width, height)));
    renderer.setSize(width, height, false);
    camera.aspect = width / height;
    camera.clearViewOffset();
    camera.updateProjectionMatrix();
  }

  /** The scene as it is now, on the canvas of this. */
  draw() {
    this.stage.drawNow();
    this.pen.imageSmoothingQuality = "high";
    this.pen.drawImage(this.stage.canvas, 0, 0, this.width, this.height);
    return this.canvas;
  }

  /** The page goes on. */
  end() {
    const { stage, before } = this;
    stage.held = false;
    stage.showFine(before.fine);
    stage.renderer.setPixelRatio(before.ratio);
    stage.fit();
  }
}
