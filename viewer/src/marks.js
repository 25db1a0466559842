// Marks in the scene: a dot where something was pointed at, and the ruler's line. They are seen through everything.

import * as THREE from "three";

const DOT = new THREE.SphereGeometry(1, 20, 14);
const ROD = new THREE.CylinderGeometry(0.25, 0.25, 1, 8).rotateX(Math.PI / 2); // along z

export class Marks {
  /** size: of a dot [m]. */
  constructor(scene, size) {
    this.size = size;
    this.fill = new THREE.MeshBasicMaterial({ transparent: true, depthTest: false });
    this.dots = [0, 1].map(() => new THREE.Mesh(DOT, this.fill));
    this.line = new THREE.Mesh(ROD, this.fill);
    for (const one of [...this.dots, this.line]) {
      one.renderOrder = 2;
      one.visible = false;
      scene.add(one);
    }
  }

  paint(colour) {
    this.fill.color = colour;
  }

  /** Dots at up to two points, THREE vectors, and a line between them. */
  show(points) {
    this.dots.forEach((dot, i) => {
      dot.visible = i < points.length;
      if (dot.visible) dot.position.copy(points[i]);
      dot.scale.setScalar(this.size);
    });
    this.line.visible = points.length > 1;
    if (!this.line.visible) return;
    const [a, b] = points;
    this.line.position.addVectors(a, b).multiplyScalar(0.5);
    this.line.scale.set(this.size, this.size, Math.max(a.distanceTo(b), 1e-6));
    this.line.lookAt(b);
  }
}
