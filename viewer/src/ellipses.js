// Uncertain poses: 95 % ellipses on the ground. Those with times have one that moves with the clock, and a trail of some.

import * as THREE from "three";
import { decode } from "./decode.js";
import { rowAt } from "./rows.js";

const CORNERS = 40;
const TRAIL = 24; // ellipses of a trail, at most; evenly chosen

export class Ellipses {
  constructor(data, ground, lift) {
    Object.assign(this, { data, ground, lift, name: data.name });
    [this.centre, this.major, this.minor] = [data.centre, data.major, data.minor].map(decode);
    this.time = data.time && decode(data.time);
    this.duration = this.time?.length ? this.time[this.time.length - 1] : 0;
    this.chosen = this.time ? evenly(data.drawn, TRAIL) : evenly(data.drawn, data.drawn);
    const rims = this.chosen.map((n) => this.rim(this.at(n, 0)));
    const outlines = geometry(new Float32Array(rims.flatMap(outline)));
    this.lines = new THREE.LineSegments(outlines, line(this.time ? 0.4 : 1));
    this.object = new THREE.Group();
    this.object.add(this.lines);
    if (this.time) this.addMoving(outlines);
    else {
      this.areas = new THREE.Mesh(geometry(new Float32Array(rims.flatMap(filled))), area(0.16));
      this.object.add(this.areas);
    }
  }

  /** The one of now, those of the trail that are behind it, and the line through all centres. */
  addMoving(outlines) {
    const path = new Float32Array(3 * this.data.drawn);
    for (let n = 0; n < this.data.drawn; n++) {
      const { x, y, z } = this.at(n, 0);
      path.set([x, y, this.level(x, y, z)], 3 * n);
    }
    const behind = new THREE.BufferGeometry().setAttribute("position", outlines.attributes.position);
    this.behind = new THREE.LineSegments(behind, line(1));
    this.path = new THREE.Line(geometry(path), line(0.8));
    this.edge = new THREE.LineSegments(geometry(new Float32Array(6 * CORNERS)), line(1));
    // Its rim is seen through the vehicle: as long as it is the smaller one, nothing else is seen of it.
    this.edge.material.depthTest = false;
    this.edge.renderOrder = 1;
    this.areas = new THREE.Mesh(geometry(new Float32Array(9 * CORNERS)), area(0.4));
    for (const one of [this.behind, this.path, this.edge, this.areas]) one.frustumCulled = false;
    this.object.add(this.behind, this.path, this.areas, this.edge);
  }

  paint(colour) {
    for (const one of [this.lines, this.areas, this.behind, this.path, this.edge]) if (one) one.material.color = colour;
  }

  moveTo(t) {
    if (!this.time?.length) return;
    const { row, part } = rowAt(this.time, t);
    const within = t >= this.time[0] - 1e-9 && t <= this.duration + 1e-9;
    this.edge.visible = within;
    this.areas.visible = within;
    this.now = within ? this.at(row, part) : null;
    this.passed = t < this.time[0] - 1e-9 ? 0 : this.chosen.filter((n) => n <= row).length;
    this.behind.geometry.setDrawRange(0, 2 * CORNERS * this.passed);
    if (!within) return;
    const rim = this.rim(this.now);
    refill(this.edge.geometry, outline(rim));
    refill(this.areas.geometry, filled(rim));
  }

  /** What is drawn now, in the world: the ellipse (p − centre)ᵀ shape⁻¹ (p − centre) = 1 [m, m²], and how many stay behind it. */
  drawn([ox, oy]) {
    if (!this.now) return null;
    const { x, y, xx, xy, yy } = this.now;
    return { centre: [x + ox, y + oy], shape: [[xx, xy], [xy, yy]], behind: this.passed };
  }

  /** Centre [m], relative to the scene's origin, and covariance times 5.99 [m²] of pose n, or on the way to the next. */
  at(n, part) {
    const a = this.pose(n);
    if (part === 0) return a;
    const b = this.pose(n + 1);
    return Object.fromEntries(Object.keys(a).map((key) => [key, (1 - part) * a[key] + part * b[key]]));
  }

  pose(n) {
    const width = this.centre.shape[1];
    const [a, b, c, d] = [this.major[2 * n], this.major[2 * n + 1], this.minor[2 * n], this.minor[2 * n + 1]];
    return {
      x: this.centre[width * n], y: this.centre[width * n + 1], z: width === 3 ? this.centre[width * n + 2] : 0,
      xx: a * a + c * c, xy: a * b + c * d, yy: b * b + d * d,
    };
  }

  level(x, y, z) {
    return (this.data.onGround ? (this.ground?.heightAt(x, y) ?? 0) : z) + this.lift;
  }

  /** The middle, then points around: a circle through the covariance's Cholesky factor. */
  rim({ x, y, z, xx, xy, yy }) {
    const a = Math.sqrt(Math.max(xx, 0));
    const b = a > 0 ? xy / a : 0;
    const c = Math.sqrt(Math.max(yy - b * b, 0));
    const points = [[x, y, this.level(x, y, z)]];
    for (let k = 0; k <= CORNERS; k++) {
      const angle = (2 * Math.PI * k) / CORNERS;
      const px = x + a * Math.cos(angle);
      const py = y + b * Math.cos(angle) + c * Math.sin(angle);
      points.push([px, py, this.level(px, py, z)]);
    }
    return points;
  }
}

function outline([, ...around]) {
  return around.slice(1).flatMap((point, k) => [...around[k], ...point]);
}

function filled([middle, ...around]) {
  return around.slice(1).flatMap((point, k) => [...middle, ...around[k], ...point]);
}

function evenly(count, most) {
  const n = Math.min(count, most);
  return [...new Set(Array.from({ length: n }, (_, i) => Math.round((i * (count - 1)) / Math.max(n - 1, 1))))];
}

function line(opacity) {
  return new THREE.LineBasicMaterial({ transparent: true, opacity });
}

function area(opacity) {
  return new THREE.MeshBasicMaterial({ transparent: true, opacity, depthWrite: false, side: THREE.DoubleSide });
}

function geometry(positions) {
  return new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(positions, 3));
}

function refill(made, positions) {
  made.attributes.position.array.set(positions);
  made.attributes.position.needsUpdate = true;
}
