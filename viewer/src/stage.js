// The stage: renderer, light, camera. It draws when something has changed, never otherwise.
// Where drawing is slow, as without a graphics card, it draws coarsely while things move: fewer pixels, no shadows; and
// once finely when they have come to rest.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { Still } from "./still.js";

const COARSE = [0.6, 0.45, 0.3]; // pixels drawn per pixel of the screen, each way, while things move slowly
const SMOOTHED = 1.5; // at rest, where nothing else smooths edges
const BANDS = 48; // of the sky
const REST = 700; // milliseconds without change
const COMPILING = 300; // milliseconds that programs get before a picture asks for them, which would wait
const LONG = 55; // milliseconds between pictures that are too many
const SHORT = 24; // and so few that there is time for more pixels

export class Stage {
  constructor(canvas, theme) {
    this.scene = new THREE.Scene();
    this.over = new THREE.Scene(); // what is drawn over it, again and again while it stands still
    this.camera = new THREE.PerspectiveCamera(42, 1, 0.01, 5000);
    this.camera.up.set(0, 0, 1);
    Object.assign(this, newRenderer(canvas)); // canvas, renderer, slow, smooth
    this.controls = new OrbitControls(this.camera, this.canvas);
    this.controls.maxPolarAngle = 0.53 * Math.PI;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.draw());
    this.waiting = false;
    this.drawn = 0;
    this.asked = 0;
    this.level = 1; // of COARSE
    this.gap = null; // milliseconds between pictures, smoothed
    this.fine = !this.slow;
    this.moving = false; // while the clock runs
    this.onFine = () => {};
    this.kept = null;
    this.still = this.slow ? new Still(this.canvas) : null;
    this.held = false; // while somebody else decides what is drawn, and how large
    this.covered = 0;
    this.addLights();
    theme.listen(() => this.paint(theme));
    new ResizeObserver(() => this.fit()).observe(this.canvas.parentElement);
    this.fit();
  }

  addLights() {
    this.heaven = new THREE.HemisphereLight();
    this.sun = new THREE.DirectionalLight("#ffffff", 2.4);
    this.sun.castShadow = this.fine;
    this.sun.shadow.mapSize.setScalar(1024);
    this.sun.shadow.bias = -0.0005;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.heaven, this.sun, this.sun.target);
  }

  paint(theme) {
    this.sky = { top: theme.colour("--sky-top"), bottom: theme.colour("--sky") };
    this.heaven.color = theme.colour("--sky-light");
    this.heaven.groundColor = theme.colour("--ground-light");
    this.heaven.intensity = theme.name === "dark" ? 2.1 : 2.5;
    this.sun.intensity = theme.name === "dark" ? 2.2 : 2.0;
    this.draw();
  }

  /** The sun shines on what is watched: a region of some size [m] around a place. */
  light(place, size) {
    const reach = 3 * size;
    this.sun.target.position.copy(place);
    this.sun.position.set(place.x - 1.6 * reach, place.y + 1.3 * reach, place.z + 2.2 * reach);
    const shadow = this.sun.shadow.camera;
    if (shadow.right !== reach) {
      Object.assign(shadow, { left: -reach, right: reach, bottom: -reach, top: reach, near: 0.1, far: 8 * reach });
      shadow.updateProjectionMatrix();
    }
  }

  fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    if (!width || !height || this.held) return;
    this.resize();
    this.camera.aspect = width / height;
    // What is watched stands in the middle of what the legend leaves free.
    if (this.covered && width > 2.2 * this.covered) this.camera.setViewOffset(width, height, -this.covered / 2, 0, width, height);
    else this.camera.clearViewOffset();
    this.camera.updateProjectionMatrix();
    this.draw();
  }

  /** How many pixels on the left are covered. */
  cover(pixels) {
    this.covered = pixels;
    this.fit();
  }

  /** As many pixels as the screen has, or fewer. */
  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement;
    // What is drawn again and again over a still picture is drawn in as few pixels as the screen has.
    const more = this.smooth || this.over.children.length ? 1 : SMOOTHED;
    const ratio = this.fine ? Math.min(window.devicePixelRatio * more, 2) : COARSE[this.level];
    this.renderer?.setPixelRatio(ratio);
    this.renderer?.setSize(width, height, false);
  }

  setFine(fine) {
    if (this.fine === fine) return;
    this.fine = fine;
    this.showFine(fine);
    this.resize();
  }

  showFine(fine) {
    this.sun.castShadow = fine;
    this.onFine(fine);
  }

  /** Ask for the programs of what is on the stage; the browser compiles them while the page does other things. */
  compile() {
    this.renderer?.compile(this.scene, this.camera);
  }

  draw() {
    this.asked += 1;
    if (this.held) return;
    if (this.slow) {
      this.setFine(false);
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.drawFinely(), REST);
    }
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      const drawn = !this.waiting; // by somebody who could not wait
      this.waiting = false;
      if (drawn || this.held) return;
      this.watch(now);
      this.drawNow();
    });
  }

  async drawFinely() {
    clearTimeout(this.resting);
    if (this.moving || this.held) return;
    const { asked } = this;
    await this.prepare();
    if (this.moving || this.held || asked !== this.asked) return; // somebody moved meanwhile, and rest comes later
    this.still?.hold();
    this.setFine(true);
    this.drawNow();
    this.still?.hold();
  }

  /** Compile, aside, what only a fine picture needs. */
  async prepare() {
    if (this.prepared || !this.renderer) return;
    this.prepared = true;
    this.showFine(true);
    this.compile();
    this.showFine(false);
    await new Promise((done) => setTimeout(done, COMPILING));
  }

  drawNow() {
    this.waiting = false;
    this.drawn += 1;
    if (!this.renderer) return;
    if (!this.fine) this.still?.release();
    this.drawSky();
    this.renderer.render(this.scene, this.camera);
    if (this.over.children.length === 0) return;
    if (!this.smooth) this.keep();
    this.renderer.render(this.over, this.camera);
  }

  /** Only what is over the scene has changed. */
  drawOver() {
    if (!this.kept || this.waiting) {
      if (!this.waiting) this.draw();
      return;
    }
    if (this.overWaiting) return;
    this.overWaiting = true;
    requestAnimationFrame(() => {
      this.overWaiting = false;
      if (this.waiting) return; // all is drawn in this very moment
      this.drawn += 1;
      this.still?.release();
      this.renderer.clear(); // else a browser empties the canvas at the first drawing after the copy
      this.copy(this.kept.buffer, null);
      this.renderer.render(this.over, this.camera);
    });
  }

  /** From above to the horizon, in bands that differ by less than an eye sees; a canvas without holes is cheaper to show. */
  drawSky() {
    const { renderer, sky: { top, bottom } } = this;
    const size = renderer.getSize(new THREE.Vector2());
    const colour = new THREE.Color();
    renderer.clear();
    renderer.setScissorTest(true);
    for (let k = 0; k < BANDS; k++) {
      const [low, high] = [Math.floor((size.y * k) / BANDS), Math.floor((size.y * (k + 1)) / BANDS)];
      renderer.setScissor(0, low, size.x, high - low + 1);
      renderer.setClearColor(colour.lerpColors(top, bottom, Math.min((BANDS - k - 1) / (0.7 * BANDS), 1)));
      renderer.clear(true, false, false);
    }
    renderer.setScissorTest(false);
  }

  /** The scene as it is drawn, to draw over it again. */
  keep() {
    const gl = this.renderer.getContext();
    const { width, height } = this.canvas;
    this.kept ??= { buffer: gl.createFramebuffer(), store: gl.createRenderbuffer() };
    if (this.kept.width !== width || this.kept.height !== height) {
      Object.assign(this.kept, { width, height });
      gl.bindRenderbuffer(gl.RENDERBUFFER, this.kept.store);
      gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA8, width, height);
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.kept.buffer);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.RENDERBUFFER, this.kept.store);
    }
    this.copy(null, this.kept.buffer);
  }

  copy(from, to) {
    const gl = this.renderer.getContext();
    const { width, height } = this.canvas;
    this.renderer.setScissorTest(false);
    gl.disable(gl.SCISSOR_TEST);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, from);
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, to);
    gl.blitFramebuffer(0, 0, width, height, 0, 0, width, height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    this.renderer.resetState();
  }

  /** Fewer pixels where pictures come slowly, more where they come fast. */
  watch(now) {
    const gap = now - (this.before ?? 0);
    this.before = now;
    if (gap > 1000) {
      this.gap = null; // the first picture of a movement
      return;
    }
    this.gap = this.gap === null ? gap : 0.8 * this.gap + 0.2 * gap;
    this.seen = (this.seen ?? 0) + 1;
    if (this.seen < 8) return;
    this.seen = 0;
    if (this.gap > LONG && !this.slow) this.slow = true;
    else if (this.gap > LONG) this.setLevel(this.level + 1);
    else if (this.gap < SHORT && this.slow) this.setLevel(this.level - 1);
  }

  setLevel(level) {
    if (this.fine || level < 0 || level >= COARSE.length) return;
    this.level = level;
    this.gap = null;
    this.resize();
  }
}

/** Whether a browser draws without a graphics card, to judge by what it calls its renderer. */
function isSlow(context) {
  const info = context.getExtension("WEBGL_debug_renderer_info");
  const name = context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER) ?? "";
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

/** A renderer, with smooth edges where there is a graphics card; null where the browser cannot draw in 3D. */
function newRenderer(canvas) {
  const options = { alpha: false, antialias: false, powerPreference: "low-power", premultipliedAlpha: true };
  let context = canvas.getContext("webgl2", { ...options, preserveDrawingBuffer: true }); // for Still
  if (!context) return { canvas, renderer: null, slow: false, smooth: true };
  const slow = isSlow(context);
  if (!slow) {
    // What a context was made with stays: a card gets a new one, on a canvas of its own.
    const fresh = canvas.cloneNode();
    canvas.replaceWith(fresh);
    context.getExtension("WEBGL_lose_context")?.loseContext();
    context = fresh.getContext("webgl2", { ...options, antialias: true });
    canvas = fresh;
  }
  try {
    const renderer = new THREE.WebGLRenderer({ canvas, context, ...options, antialias: !slow, preserveDrawingBuffer: slow });
    renderer.debug.checkShaderErrors = false; // the check waits for each program; ours are known to compile
    renderer.autoClear = false; // the sky is drawn instead
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = THREE.PCFShadowMap;
    return { canvas, renderer, slow, smooth: !slow };
  } catch {
    return { canvas, renderer: null, slow: false, smooth: true };
  }
}
