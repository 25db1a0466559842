// The vehicle as it is now, with an arrow of force and one of slip at each wheel.

import * as THREE from "three";
import { Arrows } from "../arrows.js";
import { Vehicle } from "../vehicle.js";

const NONE = { type: "f8", shape: [0], base64: "" };
const SLIP = 0.4; // m/s of slip, drawn as a third of the vehicle

export class Rover extends Vehicle {
  constructor(scene, frames) {
    super({ vehicle: scene.vehicle, time: NONE, poses: [] }, scene.origin);
    const { size } = scene.vehicle;
    this.reader = frames;
    this.object.visible = true;
    this.forces = scene.dynamic ? new Arrows(frames.wheels, 0.011 * size) : null;
    this.slips = new Arrows(frames.wheels, 0.011 * size);
    this.scale = { force: (0.42 * size) / scene.load, slip: (0.33 * size) / SLIP };
    this.all = new THREE.Group();
    this.all.add(this.object, this.slips.object);
    if (this.forces) this.all.add(this.forces.object);
    this.longest = 1.5 * size;
    this.point = new THREE.Vector3();
    this.vector = new THREE.Vector3();
  }

  dress(theme, colour) {
    this.paint(theme, colour, false);
    this.slips.paint(theme.colour("--slip"), false);
    this.forces?.paint(theme.colour("--force"), false);
  }

  stand(frame) {
    this.groups.forEach((group, i) => this.reader.pose(frame, i, group.quaternion, group.position));
    const body = this.groups[0];
    body.updateMatrix();
    this.place.copy(body.position);
    this.heading = Math.atan2(body.matrix.elements[1], body.matrix.elements[0]);
    for (let w = 0; w < this.reader.wheels; w++) {
      this.reader.point(frame, w, this.point);
      this.point.z += 0.02 * this.longest;
      this.slips.set(w, this.point, this.arrowOf(this.reader.slip(frame, w, this.vector), this.scale.slip));
      this.forces?.set(w, this.point, this.arrowOf(this.reader.force(frame, w, this.vector), this.scale.force));
    }
  }

  arrowOf(vector, scale) {
    return vector.multiplyScalar(scale).clampLength(0, this.longest);
  }
}
