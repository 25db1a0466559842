// Lines on the ground: a route, samples of a planner, ways that are refused. They do not move.

import * as THREE from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";
import { decode } from "./decode.js";

export class Lines {
  constructor(data, ground, lift) {
    Object.assign(this, { data, name: data.name, detail: data.detail });
    const paths = data.paths.map(decode).map((path) => raised(path, ground, lift));
    this.points = paths.flat();
    const dashed = data.dash > 0;
    this.material = new LineMaterial({
      linewidth: data.width, transparent: true, opacity: data.opacity, depthWrite: false, dashed,
      dashSize: data.dash, gapSize: 0.7 * data.dash, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -30,
    });
    const geometry = new LineSegmentsGeometry();
    geometry.setPositions(paths.flatMap((path) => path.slice(1).flatMap((point, k) => [...path[k], ...point])));
    this.object = new LineSegments2(geometry, this.material);
    if (dashed) this.object.computeLineDistances();
    this.object.frustumCulled = false;
  }

  paint(theme) {
    this.material.color = theme.shade(this.data.colour);
  }

  box() {
    return new THREE.Box3().setFromPoints(this.points.map((point) => new THREE.Vector3(...point)));
  }
}

/** Points of a path (n, 2) on the ground, or (n, 3) where they are. */
function raised(path, ground, lift) {
  const [count, width] = path.shape;
  return Array.from({ length: count }, (_, k) => {
    const [x, y] = [path[width * k], path[width * k + 1]];
    return [x, y, (width === 3 ? path[3 * k + 2] : (ground?.heightAt(x, y) ?? 0)) + lift];
  });
}
