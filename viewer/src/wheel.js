// A wheel that turns about its y axis: tyre with grousers, or a torus; spokes, one of them marked, so that spin shows.

import * as THREE from "three";
import { mergeGeometries } from "three/examples/jsm/utils/BufferGeometryUtils.js";

const SPOKES = 6;
const LUGS = 20;

const made = new Map();

/** Geometries of a wheel: tyre, spokes, and the spoke that is marked; those of equal wheels are shared. */
export function wheelGeometry(shape) {
  const key = `${shape.radius} ${shape.width} ${shape.tyre}`;
  if (!made.has(key)) made.set(key, newWheel(shape));
  return made.get(key);
}

function newWheel({ radius, width, tyre }) {
  const rim = tyre ? radius - 2 * tyre : 0.74 * radius;
  const thick = tyre ? 1.2 * tyre : 0.55 * width;
  const spokes = [new THREE.CylinderGeometry(0.2 * radius, 0.2 * radius, 1.15 * thick, 20)];
  for (let k = 1; k < SPOKES; k++) spokes.push(spoke(k, rim, radius, thick));
  return {
    tyre: tyre ? torus(radius, tyre) : drum(radius, width, rim),
    spokes: mergeGeometries(spokes.map((one) => one.toNonIndexed())),
    mark: mergeGeometries([spoke(0, rim, radius, 1.2 * thick), band(radius, tyre ? 1.1 * tyre : width)].map((one) => one.toNonIndexed())),
  };
}

function spoke(k, rim, radius, thick) {
  const length = rim - 0.12 * radius;
  const geometry = new THREE.BoxGeometry(length, 0.7 * thick, 0.1 * radius);
  geometry.translate(0.12 * radius + length / 2, 0, 0);
  return geometry.rotateY((2 * Math.PI * k) / SPOKES);
}

/** A bright piece of tread beyond the marked spoke. */
function band(radius, width) {
  const geometry = new THREE.BoxGeometry(0.05 * radius, 1.01 * width, 0.16 * radius);
  return geometry.translate(0.98 * radius, 0, 0);
}

function drum(radius, width, rim) {
  const [outer, shoulder, w] = [0.955 * radius, 0.9 * radius, width / 2];
  const profile = [
    [rim, -0.9 * w], [shoulder, -w], [outer, -0.8 * w], [outer, 0.8 * w], [shoulder, w], [rim, 0.9 * w], [rim, -0.9 * w],
  ].map(([r, y]) => new THREE.Vector2(r, y));
  const parts = [new THREE.LatheGeometry(profile, 40)];
  for (let k = 0; k < LUGS; k++) {
    const lug = new THREE.BoxGeometry(0.06 * radius, 1.9 * w, 0.055 * radius);
    parts.push(lug.translate(0.97 * radius, 0, 0).rotateY((2 * Math.PI * (k + 0.5)) / LUGS));
  }
  return mergeGeometries(parts.map((one) => one.toNonIndexed()));
}

/** The torus of the contact model itself: its tube's radius is the tyre's. */
function torus(radius, tyre) {
  return new THREE.TorusGeometry(radius - tyre, tyre, 20, 56).rotateX(Math.PI / 2);
}
