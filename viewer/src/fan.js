// A fan of rollouts: all paths of one ending in one draw call, and a point on each path where it is now.

import * as THREE from "three";
import { decode } from "./decode.js";
import { rowAt } from "./kinematics.js";

export class Fan {
  constructor(data) {
    this.time = decode(data.time);
    this.duration = this.time.length ? this.time[this.time.length - 1] : 0;
    this.groups = data.groups.map((group) => new Group(group));
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
  constructor({ status, meaning, colour, total, paths }) {
    Object.assign(this, { status, meaning, colour, total });
    this.paths = decode(paths);
    [this.count, this.rows] = this.paths.shape;
    this.lines = new THREE.LineSegments(
      this.segments(), new THREE.LineBasicMaterial({ transparent: true, opacity: this.count > 200 ? 0.3 : 0.6, depthWrite: false }));
    this.now = new THREE.Points(new THREE.BufferGeometry(), new THREE.PointsMaterial({ size: 5, sizeAttenuation: false }));
    this.now.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * this.count), 3));
    this.now.frustumCulled = false;
    this.object = new THREE.Group();
    this.object.add(this.lines, this.now);
  }

  segments() {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(this.paths, 3));
    this.indices = { fine: this.pairs(1) };
    return geometry.setIndex(this.indices.fine);
  }

  /** Between all states, or every fifth. */
  setFine(fine) {
    if (!fine) this.indices.coarse ??= this.pairs(5);
    this.lines.geometry.setIndex(fine ? this.indices.fine : this.indices.coarse);
  }

  pairs(step) {
    const { count, rows } = this;
    const indices = [];
    for (let i = 0; i < count; i++) {
      for (let r = 0; r < rows - 1; r += step) indices.push(i * rows + r, i * rows + Math.min(r + step, rows - 1));
    }
    return new THREE.BufferAttribute(Uint32Array.from(indices), 1);
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
