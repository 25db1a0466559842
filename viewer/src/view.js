// Where the camera looks from, and how it follows a vehicle.

import * as THREE from "three";

const DIRECTIONS = {
  corner: new THREE.Vector3(-0.75, -1.0, 0.62),
  top: new THREE.Vector3(-0.001, 0, 1),
  side: new THREE.Vector3(0.05, -1, 0.16),
  behind: new THREE.Vector3(-1, 0, 0.42),
};

export class View {
  constructor(stage, size) {
    this.stage = stage;
    this.size = size;
    this.following = true;
    this.place = null;
    this.listeners = [];
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  follow(on) {
    this.following = on;
    for (const listener of this.listeners) listener(this);
  }

  /** Move along with a vehicle: the camera keeps its distance and direction. */
  carry(place) {
    if (this.following && this.place) {
      const moved = place.clone().sub(this.place);
      this.stage.camera.position.add(moved);
      this.stage.controls.target.add(moved);
    }
    this.place = place.clone();
    this.stage.light(place, this.size);
    this.look();
  }

  /** Look at the vehicle from one of the directions, turned by its heading [rad] for "behind". */
  near(direction, heading = 0) {
    const place = this.place ?? new THREE.Vector3();
    const way = DIRECTIONS[direction].clone().normalize();
    way.applyAxisAngle(new THREE.Vector3(0, 0, 1), direction === "top" ? 0 : heading);
    this.from(place.clone().add(new THREE.Vector3(0, 0, 0.1 * this.size)), way, this.distance(1.05 * this.size));
  }

  /** Look at a whole box. */
  whole(box) {
    if (box.isEmpty()) return this.near("corner");
    const middle = box.getCenter(new THREE.Vector3());
    const radius = 0.5 * box.getSize(new THREE.Vector3()).length();
    this.from(middle, DIRECTIONS.corner.clone().normalize(), this.distance(0.56 * radius));
    return undefined;
  }

  /** From how far a ball of a radius fills the picture, upright or wide. */
  distance(radius) {
    const { fov, aspect } = this.stage.camera;
    const half = THREE.MathUtils.degToRad(fov / 2);
    return Math.max((1.5 * radius) / Math.sin(half) / Math.min(1, aspect * 0.9), 0.2);
  }

  from(target, way, distance) {
    this.stand(target.clone().addScaledVector(way, distance), target);
  }

  /** Look from a place at another. */
  stand(camera, target) {
    this.stage.controls.target.copy(target);
    this.stage.camera.position.copy(camera);
    this.look();
  }

  look() {
    this.stage.controls.update();
    this.stage.draw();
  }
}
