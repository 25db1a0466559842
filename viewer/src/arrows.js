// Arrows: one for each wheel. Plain meshes, so that they share the program of the vehicle's materials and a page opens sooner.

import * as THREE from "three";

const UP = new THREE.Vector3(0, 1, 0);
const SHAFT = new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0);
const HEAD = new THREE.ConeGeometry(2.4, 1, 16).translate(0, 0.5, 0);

export class Arrows {
  constructor(count, thickness) {
    this.thickness = thickness;
    this.material = new THREE.MeshPhongMaterial({ shininess: 30, specular: "#222222", emissiveIntensity: 0.35 });
    this.object = new THREE.Group();
    this.arrows = Array.from({ length: count }, () => {
      const arrow = { shaft: new THREE.Mesh(SHAFT, this.material), head: new THREE.Mesh(HEAD, this.material) };
      for (const mesh of Object.values(arrow)) Object.assign(mesh, { matrixAutoUpdate: false, visible: false });
      this.object.add(arrow.shaft, arrow.head);
      return arrow;
    });
    this.turn = new THREE.Quaternion();
    this.scale = new THREE.Vector3();
    this.tip = new THREE.Vector3();
    this.way = new THREE.Vector3();
  }

  paint(colour, ghost) {
    this.material.color = colour;
    this.material.emissive = colour;
    if (this.material.transparent !== ghost) this.material.needsUpdate = true;
    Object.assign(this.material, { transparent: ghost, opacity: ghost ? 0.4 : 1 });
  }

  /** Arrow i from a place along a vector [m]; one too short to see is not drawn. */
  set(i, place, vector) {
    const { shaft, head } = this.arrows[i];
    const length = vector.length();
    const t = this.thickness;
    shaft.visible = length > 0.5 * t;
    head.visible = shaft.visible;
    if (!shaft.visible) return;
    this.way.copy(vector).divideScalar(length);
    this.turn.setFromUnitVectors(UP, this.way);
    const pointed = Math.min(6 * t, 0.6 * length);
    shaft.matrix.compose(place, this.turn, this.scale.set(t, length - pointed, t));
    this.tip.copy(place).addScaledVector(this.way, length - pointed);
    head.matrix.compose(this.tip, this.turn, this.scale.set(t, pointed, t));
    shaft.matrixWorldNeedsUpdate = true;
    head.matrixWorldNeedsUpdate = true;
  }
}
