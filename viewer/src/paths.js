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
    this.some = points.length >= 6;
    this.lines = [];
    this.row = 0;
    if (!this.some) return;
    const white = new Float32Array(points.length).fill(1);
    this.ahead = thin(points, white, 0.6);
    this.driven = { points, colours: white, width: 3.5, thin: thin(points, white, 1), into: this.body };
    this.tracks = tracks.map((track, w) => {
      const colours = new Float32Array(track.length);
      const colour = new THREE.Color();
      for (let row = 0; 3 * row < track.length; row++) slipColour(slips[w][row] / worst, colour).toArray(colours, 3 * row);
      return { points: track, colours, width: 2.2, thin: thin(track, colours, 1), into: this.contacts };
    });
    this.lines = [this.driven, ...this.tracks];
    this.body.add(this.ahead);
    for (const line of this.lines) line.into.add(line.thin);
  }

  setFine(fine) {
    for (const line of this.lines) {
      if (fine && !line.wide) this.widen(line);
      if (line.wide) line.wide.visible = fine;
      line.thin.visible = !fine;
    }
  }

  /** Wide lines are made when they are first wanted. */
  widen(line) {
    line.wide = wide(line.points, line.colours, line.width);
    line.into.add(line.wide);
    if (this.colour) this.paint(this.colour, this.ghost);
    this.moveTo(this.row);
  }

  paint(colour, ghost) {
    Object.assign(this, { colour, ghost });
    if (!this.some) return;
    for (const track of this.tracks) {
      track.thin.material.opacity = ghost ? 0.35 : 1;
      if (track.wide) Object.assign(track.wide.material, { opacity: ghost ? 0.35 : 1, linewidth: ghost ? 1.4 : track.width });
    }
    for (const line of [this.ahead, this.driven.thin, this.driven.wide]) if (line) line.material.color = colour.clone();
  }

  /** Draw the strong line up to a row. */
  moveTo(row) {
    this.row = row;
    if (!this.some) return;
    if (this.driven.wide) this.driven.wide.geometry.instanceCount = row;
    this.driven.thin.geometry.setDrawRange(0, row + 1);
  }
}

function wide(points, colours, linewidth) {
  const geometry = new LineGeometry();
  geometry.setPositions(points);
  geometry.setColors(colours);
  const material = new LineMaterial({
    linewidth, vertexColors: true, transparent: true, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -30,
  });
  const drawn = new Line2(geometry, material);
  drawn.frustumCulled = false;
  return drawn;
}

/** All thin lines are of one kind of material, which is one program. */
function thin(points, colours, opacity) {
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(points, 3));
  geometry.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  const drawn = new THREE.Line(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true, opacity }));
  drawn.frustumCulled = false;
  return drawn;
}
