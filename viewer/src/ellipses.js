// Uncertain poses: 95 % ellipses on the ground.

import * as THREE from "three";
import { decode } from "./decode.js";

const CORNERS = 40;

export class Ellipses {
  constructor(data, ground, lift) {
    this.name = data.name;
    const outline = [];
    const filled = [];
    this.object = new THREE.Group();
    const [centre, major, minor] = [data.centre, data.major, data.minor].map(decode);
    const width = centre.shape[1];
    for (let n = 0; n < data.drawn; n++) {
      const [x, y] = [centre[width * n], centre[width * n + 1]];
      const rim = [];
      for (let k = 0; k <= CORNERS; k++) {
        const [c, s] = [Math.cos((2 * Math.PI * k) / CORNERS), Math.sin((2 * Math.PI * k) / CORNERS)];
        const px = x + c * major[2 * n] + s * minor[2 * n];
        const py = y + c * major[2 * n + 1] + s * minor[2 * n + 1];
        const level = data.onGround ? (ground?.heightAt(px, py) ?? 0) : centre[width * n + 2];
        rim.push([px, py, level + lift]);
      }
      const level = data.onGround ? (ground?.heightAt(x, y) ?? 0) : centre[width * n + 2];
      for (let k = 0; k < CORNERS; k++) {
        outline.push(...rim[k], ...rim[k + 1]);
        filled.push(x, y, level + lift, ...rim[k], ...rim[k + 1]);
      }
    }
    this.lines = new THREE.LineSegments(geometry(outline), new THREE.LineBasicMaterial());
    this.areas = new THREE.Mesh(
      geometry(filled),
      new THREE.MeshBasicMaterial({ transparent: true, opacity: 0.16, depthWrite: false, side: THREE.DoubleSide }));
    this.object.add(this.areas, this.lines);
  }

  paint(colour) {
    this.lines.material.color = colour;
    this.areas.material.color = colour;
  }
}

function geometry(positions) {
  const made = new THREE.BufferGeometry();
  made.setAttribute("position", new THREE.Float32BufferAttribute(positions, 3));
  return made;
}
