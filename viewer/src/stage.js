// The stage: renderer, light, camera. It draws when something has changed, never otherwise.
// Without a graphics card it draws coarsely while things move, and once finely when they have come to rest.

import * as THREE from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";

const COARSE = 0.45; // pixels drawn per pixel of the screen, each way
const REST = 700; // milliseconds without change

export class Stage {
  constructor(canvas, theme) {
    this.canvas = canvas;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(42, 1, 0.01, 5000);
    this.camera.up.set(0, 0, 1);
    this.renderer = newRenderer(canvas);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.maxPolarAngle = 0.53 * Math.PI;
    this.controls.zoomToCursor = true;
    this.controls.addEventListener("change", () => this.draw());
    this.waiting = false;
    this.drawn = 0;
    this.slow = isSlow(this.renderer);
    this.fine = !this.slow;
    this.moving = false; // while the clock runs
    this.onFine = () => {};
    this.covered = 0;
    this.addLights();
    theme.listen(() => this.paint(theme));
    new ResizeObserver(() => this.fit()).observe(canvas.parentElement);
    this.fit();
  }

  addLights() {
    this.sky = new THREE.HemisphereLight();
    this.sun = new THREE.DirectionalLight("#ffffff", 2.4);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.setScalar(this.slow ? 512 : 1024);
    this.sun.shadow.bias = -0.0005;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sky, this.sun, this.sun.target);
  }

  paint(theme) {
    this.sky.color = theme.colour("--sky-light");
    this.sky.groundColor = theme.colour("--ground-light");
    this.sky.intensity = theme.name === "dark" ? 2.1 : 2.5;
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
    if (!width || !height) return;
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
    const ratio = Math.min(window.devicePixelRatio, 2);
    this.renderer?.setPixelRatio(this.fine ? ratio : COARSE);
    this.renderer?.setSize(width, height, false);
  }

  setFine(fine) {
    if (this.fine === fine) return;
    this.fine = fine;
    this.onFine(fine);
    this.resize();
  }

  draw() {
    if (this.slow) {
      this.setFine(false);
      clearTimeout(this.resting);
      this.resting = setTimeout(() => this.drawFinely(), REST);
    }
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.drawNow());
  }

  drawFinely() {
    if (this.moving) return;
    this.setFine(true);
    this.drawNow();
  }

  drawNow() {
    this.waiting = false;
    if (!this.renderer) return;
    this.renderer.render(this.scene, this.camera);
    this.drawn += 1;
  }
}

/** Whether a browser draws without a graphics card, to judge by what it calls its renderer. */
function isSlow(renderer) {
  const context = renderer?.getContext();
  const info = context?.getExtension("WEBGL_debug_renderer_info");
  const name = context?.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER) ?? "";
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

/** A renderer, or null where the browser cannot draw in 3D: the curves still work there. */
function newRenderer(canvas) {
  try {
    const renderer = new THREE.WebGLRenderer({ canvas, antialias: true, alpha: true, powerPreference: "low-power" });
    renderer.debug.checkShaderErrors = false; // the check waits for each program; ours are known to compile
    renderer.shadowMap.enabled = true;
    renderer.shadowMap.type = THREE.PCFShadowMap;
    return renderer;
  } catch {
    return null;
  }
}
