// What is under a pointer: a wheel or another part of a vehicle that is drawn, or the ground.

import * as THREE from "three";
import { meet } from "./ground_ray.js";

export class Picker {
  /** runs: with vehicles; grounds(): those that are drawn, the main one first. */
  constructor(stage, runs, grounds) {
    Object.assign(this, { stage, runs, grounds });
    this.ray = new THREE.Raycaster();
    this.at = new THREE.Vector2();
  }

  /** {kind: "wheel", run, wheel}, {kind: "part", run, frame} or {kind: "ground", ground}, each with its point; or null. */
  pick(clientX, clientY, { vehicles = true } = {}) {
    const { camera, canvas, scene } = this.stage;
    const box = canvas.getBoundingClientRect();
    this.at.set((2 * (clientX - box.left)) / box.width - 1, 1 - (2 * (clientY - box.top)) / box.height);
    camera.updateMatrixWorld();
    this.ray.setFromCamera(this.at, camera);
    const hit = vehicles ? this.vehicle(scene) : null;
    const { ray: { origin, direction } } = this.ray;
    const far = hit ? hit.distance : camera.far;
    for (const ground of this.grounds()) {
      const point = meet(ground, origin, direction, far);
      if (point) return { kind: "ground", ground, point };
    }
    return hit && part(hit);
  }

  vehicle(scene) {
    scene.updateMatrixWorld();
    let nearest = null;
    for (const run of this.runs) {
      if (!run.shown || !run.vehicle.object.visible) continue;
      const [hit] = this.ray.intersectObject(run.vehicle.object, true);
      if (hit && !(nearest && nearest.distance < hit.distance)) nearest = { ...hit, run };
    }
    return nearest;
  }
}

/** Which frame of its vehicle something belongs to. */
function part({ object, point, run }) {
  const { groups, wheels } = run.vehicle;
  let frame = -1;
  for (let one = object; one && frame < 0; one = one.parent) frame = groups.indexOf(one);
  const wheel = wheels.indexOf(frame);
  return wheel < 0 ? { kind: "part", run, frame, point } : { kind: "wheel", run, wheel, point };
}
