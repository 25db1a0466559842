// Lines on the ground: where the vehicle has been, where the planner wants to go, and the place that was clicked.

import * as THREE from "three";
import { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
import { LineSegments2 } from "three/examples/jsm/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/examples/jsm/lines/LineSegmentsGeometry.js";

const MOST = 6000; // pieces of the way behind; the oldest go first

function lines(most, linewidth) {
  const geometry = new LineSegmentsGeometry();
  geometry.setPositions(new Float32Array(6 * most));
  geometry.instanceCount = 0;
  const material = new LineMaterial({
    linewidth, transparent: true, depthWrite: false, polygonOffset: true, polygonOffsetFactor: -2, polygonOffsetUnits: -30,
  });
  const drawn = new LineSegments2(geometry, material);
  drawn.frustumCulled = false;
  return drawn;
}

/** The way behind the vehicle, a piece for each hundredth of its size. */
export class Track {
  constructor(size) {
    this.apart = 0.04 * size;
    this.lift = 0.02 * size;
    this.object = lines(MOST, 3);
    this.clear();
  }

  clear() {
    this.count = 0;
    this.last = null;
    this.object.geometry.instanceCount = 0;
  }

  paint(colour) {
    this.object.material.color = colour;
  }

  /** place: of the body [m]; z: of the ground there. */
  add(place, z) {
    const now = [place.x, place.y, z + this.lift];
    if (!this.last) this.last = now;
    const far = Math.hypot(now[0] - this.last[0], now[1] - this.last[1]);
    if (far < this.apart) return;
    const { data } = this.object.geometry.attributes.instanceStart;
    const at = 6 * (this.count % MOST);
    data.array.set([...this.last, ...now], at);
    data.addUpdateRange(at, 6);
    data.needsUpdate = true;
    this.count += 1;
    this.object.geometry.instanceCount = Math.min(this.count, MOST);
    this.last = now;
  }
}

/** The plan, and the place it leads to. */
export class Way {
  constructor(size) {
    this.lift = 0.03 * size;
    this.object = new THREE.Group();
    this.path = lines(200, 4);
    const ring = new THREE.TorusGeometry(0.3, 0.03, 10, 48);
    const pole = new THREE.CylinderGeometry(0.02, 0.02, 0.7 * size, 10).rotateX(Math.PI / 2).translate(0, 0, 0.35 * size);
    this.material = new THREE.MeshPhongMaterial({ shininess: 20, specular: "#222222", emissiveIntensity: 0.5 });
    this.mark = new THREE.Group();
    this.mark.add(new THREE.Mesh(ring, this.material), new THREE.Mesh(pole, this.material));
    this.mark.visible = false;
    this.object.add(this.path, this.mark);
  }

  paint(colour) {
    this.path.material.color = colour;
    this.material.color = colour;
    this.material.emissive = colour;
  }

  /** points: x, y, z of each, relative to the scene's origin; ground: what it lies on. */
  show(points, ground) {
    const { geometry } = this.path;
    const { data } = geometry.attributes.instanceStart;
    const count = Math.min(points.length / 3, 201);
    const height = (k) => (ground?.heightAt(points[3 * k], points[3 * k + 1]) ?? points[3 * k + 2]) + this.lift;
    for (let k = 0; k + 1 < count; k++) {
      data.array.set([points[3 * k], points[3 * k + 1], height(k), points[3 * k + 3], points[3 * k + 4], height(k + 1)], 6 * k);
    }
    data.needsUpdate = true;
    geometry.instanceCount = Math.max(count - 1, 0);
  }

  to(goal, ground, origin) {
    this.mark.visible = goal !== null;
    if (!goal) return;
    const [x, y] = [goal[0] - origin[0], goal[1] - origin[1]];
    this.mark.position.set(x, y, (ground?.heightAt(x, y) ?? 0) + this.lift);
  }
}
