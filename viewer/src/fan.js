// A fan of rollouts: all paths of one ending in one draw call. The points where each rollout is now are drawn over the
// picture, so that a fan plays without its thousand paths being drawn again.

import * as THREE from "three";
import { decode } from "./decode.js";
import { rowAt } from "./rows.js";

const TURNING = { paths: 300, step: 5 }; // of a fan are drawn while a slow view turns: so many paths, every fifth state

export class Fan {
  constructor(data) {
    this.time = decode(data.time);
    this.duration = this.time.length ? this.time[this.time.length - 1] : 0;
    this.stride = Math.max(1, Math.ceil(data.drawn / TURNING.paths));
    this.groups = data.groups.map((group) => new Group(group, this.stride));
  }

  /** What is drawn while a slow view turns, in words. */
  get turning() {
    const paths = this.groups.reduce((sum, group) => sum + Math.ceil(group.count / this.stride), 0);
    return `${paths} of them are drawn, every ${TURNING.step}th state of each`;
  }

  setFine(fine) {
    for (const group of this.groups) group.setFine(fine);
  }

  paint(theme) {
    for (const group of this.groups) group.paint(theme);
  }

  moveTo(t) {
    if (this.time.length === 0) return;
    const { row, part } = rowAt(this.time, t);
    for (const group of this.groups) group.moveTo(row, part);
  }
}

class Group {
  constructor({ status, meaning, colour, total, paths }, stride) {
    Object.assign(this, { status, meaning, colour, total, stride });
    this.paths = decode(paths);
    [this.count, this.rows] = this.paths.shape;
    this.lines = new THREE.LineSegments(
      new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ transparent: true, depthWrite: false }));
    this.lines.geometry.setAttribute("position", new THREE.BufferAttribute(this.paths, 3));
    this.lines.frustumCulled = false;
    this.indices = {};
    this.now = new THREE.Points(
      new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 3.5, sizeAttenuation: false, depthTest: false, depthWrite: false }));
    this.now.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * this.count), 3));
    this.now.frustumCulled = false;
    this.object = new THREE.Group();
    this.object.add(this.lines);
    this.setFine(false);
  }

  /** All paths through all states, or some through some; each is made when it is first wanted. */
  setFine(fine) {
    const kind = fine ? "fine" : "coarse";
    this.indices[kind] ??= fine ? this.pairs(1, 1) : this.pairs(this.stride, TURNING.step);
    this.lines.geometry.setIndex(this.indices[kind]);
    this.lines.material.opacity = !fine || this.count < 200 ? 0.6 : 0.3;
  }

  pairs(stride, step) {
    const { count, rows } = this;
    const paths = Math.ceil(count / stride);
    const parts = Math.ceil((rows - 1) / step);
    const indices = new Uint32Array(2 * paths * parts);
    let n = 0;
    for (let i = 0; i < count; i += stride) {
      for (let r = 0; r < rows - 1; r += step) {
        indices[n++] = i * rows + r;
        indices[n++] = i * rows + Math.min(r + step, rows - 1);
      }
    }
    return new THREE.BufferAttribute(indices, 1);
  }

  paint(theme) {
    this.lines.material.color = theme.shade(this.colour);
    this.now.material.color = theme.shade(this.colour);
  }

  moveTo(row, part) {
    const { count, rows, paths } = this;
    const places = this.now.geometry.attributes.position;
    const next = Math.min(row + 1, rows - 1);
    for (let i = 0; i < count; i++) {
      const a = 3 * (i * rows + row);
      const b = 3 * (i * rows + next);
      for (let k = 0; k < 3; k++) places.array[3 * i + k] = (1 - part) * paths[a + k] + part * paths[b + k];
    }
    places.needsUpdate = true;
  }
}
