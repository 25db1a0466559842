// Paths of a run: of the body, strong as far as it has come; of the contacts, coloured by slip.
// Lines of some width are made of triangles; where drawing is slow, thin ones stand for them while things move.

import * as THREE from "three";
import { Line2 } from "three/examples/jsm/lines/Line2.js";
import { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { slipColour } from "./theme.js";

export class Paths {
  /** points: of the body, 3 per row; tracks: of each contact; slips: speeds of each [m/s]; worst: the slip of the last colour. */
  constructor(points, tracks, slips, worst) {
    this.body = new THREE.Group();
    this.contacts = new THREE.Group();
    this.ahead = null;
    if (points.length < 6) return;
    this.ahead = thin(points, null, { transparent: true, opacity: 0.6 });
    this.driven = { wide: wide(points, null, 3.5), thin: thin(points, null) };
    this.tracks = tracks.map((track, w) => {
      const colours = new Float32Array(track.length);
      const colour = new THREE.Color();
      for (let row = 0; 3 * row < track.length; row++) slipColour(slips[w][row] / worst, colour).toArray(colours, 3 * row);
      return { wide: wide(track, colours, 2.2), thin: thin(track, colours) };
    });
    this.body.add(this.ahead, this.driven.wide, this.driven.thin);
    for (const track of this.tracks) this.contacts.add(track.wide, track.thin);
    this.setFine(true);
  }

  setFine(fine) {
    if (!this.ahead) return;
    for (const line of [this.driven, ...this.tracks]) {
      line.wide.visible = fine;
      line.thin.visible = !fine;
    }
  }

  paint(colour, ghost) {
    if (!this.ahead) return;
    for (const track of this.tracks) {
      Object.assign(track.wide.material, { transparent: true, opacity: ghost ? 0.35 : 1, linewidth: ghost ? 1.4 : 2.2 });
    }
    for (const line of [this.ahead, this.driven.wide, this.driven.thin]) line.material.color = colour.clone();
  }

  /** Draw the strong line up to a row. */
  moveTo(row) {
    if (!this.ahead) return;
    this.driven.wide.geometry.instanceCount = row;
    this.driven.thin.geometry.setDrawRange(0, row + 1);
  }
}

function wide(points, colours, linewidth) {
  const geometry = new LineGeometry();
  geometry.setPositions(points);
  if (colours) geometry.setColors(colours);
  const material = new LineMaterial({
    linewidth, vertexColors: colours !== null, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -30,
  });
  const drawn = new Line2(geometry, material);
  drawn.frustumCulled = false;
  return drawn;
}

function thin(points, colours, options = {}) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
  if (colours) geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  const drawn = new THREE.Line(geometry, new THREE.LineBasicMaterial({ vertexColors: colours !== null, ...options }));
  drawn.frustumCulled = false;
  return drawn;
}
