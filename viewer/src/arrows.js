// Arrows: one for each wheel, all of a kind in two draw calls.

import * as THREE from "three";

const UP = new THREE.Vector3(0, 1, 0);

export class Arrows {
  constructor(count, thickness) {
    this.count = count;
    this.thickness = thickness;
    this.material = new THREE.MeshPhongMaterial({ shininess: 30, specular: "#222222", emissiveIntensity: 0.35 });
    this.shafts = new THREE.InstancedMesh(new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0), this.material, count);
    this.heads = new THREE.InstancedMesh(new THREE.ConeGeometry(2.4, 1, 16).translate(0, 0.5, 0), this.material, count);
    this.object = new THREE.Group();
    this.object.add(this.shafts, this.heads);
    for (const mesh of [this.shafts, this.heads]) mesh.frustumCulled = false;
    this.matrix = new THREE.Matrix4();
    this.turn = new THREE.Quaternion();
    this.scale = new THREE.Vector3();
    this.tip = new THREE.Vector3();
    this.way = new THREE.Vector3();
  }

  paint(colour, ghost) {
    this.material.color = colour;
    this.material.emissive = colour;
    Object.assign(this.material, { transparent: ghost, opacity: ghost ? 0.4 : 1 });
  }

  /** Arrow i from a place along a vector [m]; one too short to see is not drawn. */
  set(i, place, vector) {
    const length = vector.length();
    const t = this.thickness;
    if (!(length > 0.5 * t)) {
      this.matrix.makeScale(0, 0, 0);
      this.shafts.setMatrixAt(i, this.matrix);
      this.heads.setMatrixAt(i, this.matrix);
      return;
    }
    this.way.copy(vector).divideScalar(length);
    this.turn.setFromUnitVectors(UP, this.way);
    const head = Math.min(6 * t, 0.6 * length);
    this.matrix.compose(place, this.turn, this.scale.set(t, length - head, t));
    this.shafts.setMatrixAt(i, this.matrix);
    this.tip.copy(place).addScaledVector(this.way, length - head);
    this.matrix.compose(this.tip, this.turn, this.scale.set(t, head, t));
    this.heads.setMatrixAt(i, this.matrix);
  }

  done() {
    this.shafts.instanceMatrix.needsUpdate = true;
    this.heads.instanceMatrix.needsUpdate = true;
  }
}
