// A vehicle, drawn from its frames. Each frame hangs from its parent, with the pose that the engine computed.

import * as THREE from "three";
import { RoundedBoxGeometry } from "three/examples/jsm/geometries/RoundedBoxGeometry.js";
import { decode } from "./decode.js";
import { poseAt, rowAt } from "./rows.js";
import { wheelGeometry } from "./wheel.js";

export class Vehicle {
  constructor(run, origin) {
    this.frames = run.vehicle.frames;
    this.wheels = run.vehicle.wheels;
    this.time = decode(run.time);
    // Of each frame relative to its parent; of the body relative to the scene's origin.
    this.poses = run.poses.map(({ quaternion, position }) => ({ quaternion: decode(quaternion), position: decode(position) }));
    this.origin = origin;
    this.object = new THREE.Group();
    this.place = new THREE.Vector3();
    this.heading = 0;
    this.materials = newMaterials();
    this.meshes = (run.vehicle.meshes ?? []).map(({ parts }) => parts.map((part) => ({ ...part, geometry: meshGeometry(part) })));
    this.groups = [];
    for (const frame of this.frames) this.groups.push(this.newFrame(frame));
    this.object.visible = this.time.length > 0;
  }

  newFrame(frame) {
    const group = new THREE.Group();
    const wheel = this.wheels.includes(this.groups.length);
    for (const shape of frame.shapes) group.add(...this.drawn(shape, wheel));
    (this.groups[frame.parent] ?? this.object).add(group);
    return group;
  }

  /** The objects of a shape. Visuals without a colour have that of the body or of a tyre. */
  drawn(shape, wheel) {
    const own = wheel ? this.materials.tyre : this.materials.body;
    if (shape.kind === "solid") {
      return [placed(solid(shape), shape, this.coloured(shape.color) ?? own)];
    }
    if (shape.kind === "mesh") {
      return this.meshes[shape.mesh].map(({ geometry, color }) => {
        return posed(new THREE.Mesh(geometry, this.coloured(color) ?? this.coloured(shape.color) ?? own), shape);
      });
    }
    return meshes(shape, this.materials);
  }

  /** The material of a colour [red, green, blue, opacity], one for each; null for none. */
  coloured(color) {
    if (!color) return null;
    const name = `visual ${color}`;
    if (!this.materials[name]) {
      const [red, green, blue, opacity] = color;
      const material = new THREE.MeshPhongMaterial({ shininess: 30, specular: "#333333" });
      material.color.setRGB(red, green, blue, THREE.SRGBColorSpace);
      material.userData.opacity = opacity;
      this.materials[name] = material;
    }
    return this.materials[name];
  }

  /** Ghosts stand for the runs that are not followed. */
  paint(theme, colour, ghost) {
    const { body, deck, beam, tyre, spokes, mark } = this.materials;
    body.color = colour.clone();
    deck.color = theme.colour("--deck");
    beam.color = theme.colour("--beam");
    tyre.color = theme.colour("--tyre");
    spokes.color = theme.colour("--spokes");
    mark.color = colour.clone().lerp(new THREE.Color("#ffffff"), 0.15);
    for (const material of Object.values(this.materials)) {
      const opacity = material.userData.opacity ?? 1;
      const transparent = ghost || opacity < 1;
      if (material.transparent !== transparent) material.needsUpdate = true;
      Object.assign(material, { opacity, transparent, depthWrite: !transparent });
    }
    this.object.traverse((one) => {
      one.castShadow = !ghost && one.isMesh === true;
    });
  }

  /** A ghost that stands in the followed vehicle hardly shows; away from it, it does. */
  fade(followed, size) {
    const apart = Math.min(this.place.distanceTo(followed) / size, 1);
    for (const material of Object.values(this.materials)) {
      material.opacity = (0.12 + 0.38 * apart) * (material.userData.opacity ?? 1);
    }
  }

  /** Stand as at a time; returns the row and the way to the next. */
  moveTo(t) {
    if (this.time.length === 0) return null;
    const { row, part } = rowAt(this.time, t);
    this.groups.forEach((group, i) => poseAt(this.poses[i], row, part, group.quaternion, group.position));
    const body = this.groups[0];
    body.updateMatrix();
    this.place.copy(body.position);
    this.heading = Math.atan2(body.matrix.elements[1], body.matrix.elements[0]);
    return { row, part };
  }

  /** What is drawn of a wheel: position [m], world, and R_world_wheel by rows. */
  wheelPose(wheel) {
    const group = this.groups[this.wheels[wheel]];
    group.updateWorldMatrix(true, false);
    const m = group.matrixWorld.elements; // by columns
    return {
      position: [m[12] + this.origin[0], m[13] + this.origin[1], m[14] + this.origin[2]],
      rotation: [m[0], m[4], m[8], m[1], m[5], m[9], m[2], m[6], m[10]],
    };
  }
}

function newMaterials() {
  // One kind of material, so that a browser compiles one program for all of them: pages open sooner.
  const shiny = (shininess, specular) => new THREE.MeshPhongMaterial({ shininess, specular });
  return {
    body: shiny(40, "#333333"),
    deck: shiny(60, "#333333"),
    beam: shiny(60, "#777777"),
    tyre: shiny(10, "#1a1a1a"),
    spokes: shiny(70, "#888888"),
    mark: shiny(40, "#333333"),
  };
}

function meshes(shape, materials) {
  switch (shape.kind) {
    case "body":
      return body(shape, materials);
    case "box":
      return [placed(new THREE.BoxGeometry(...shape.size), shape, materials.beam)];
    case "beam":
      return [beam(shape, materials.beam)];
    case "wheel": {
      const { tyre, spokes, mark } = wheelGeometry(shape);
      return [
        new THREE.Mesh(tyre, materials.tyre), new THREE.Mesh(spokes, materials.spokes), new THREE.Mesh(mark, materials.mark),
      ];
    }
    default:
      return [];
  }
}

/** The body: its box, a dark deck on it, and a bright bar in front, so that ahead is plain to see. */
function body(shape, materials) {
  const [x, y, z] = shape.size;
  const round = 0.08 * Math.min(x, y, z);
  const hull = placed(new RoundedBoxGeometry(x, y, z, 3, round), shape, materials.body);
  const thin = 0.05 * z;
  const deck = new THREE.BoxGeometry(0.86 * x, 0.82 * y, thin).translate(0, 0, z / 2 + 0.2 * thin);
  const front = new THREE.BoxGeometry(0.02 * x, 0.7 * y, 0.16 * z).translate(x / 2, 0, 0.22 * z);
  const tip = 0.17 * Math.min(x, y);
  const corners = [[1.2, 0], [-0.6, 0.9], [-0.1, 0], [-0.6, -0.9]].map(([u, v]) => new THREE.Vector2(u * tip, v * tip));
  const arrow = new THREE.ShapeGeometry(new THREE.Shape(corners)).translate(0.24 * x, 0, z / 2 + 0.8 * thin);
  return [
    hull, placed(deck, shape, materials.deck), placed(front, shape, materials.mark), placed(arrow, shape, materials.mark),
  ];
}

function placed(geometry, shape, material) {
  return new THREE.Mesh(geometry.applyMatrix4(pose(shape)), material);
}

/** An object whose geometry others share, set where it belongs. */
function posed(object, shape) {
  pose(shape).decompose(object.position, object.quaternion, object.scale);
  return object;
}

/** Rotation by rows and centre as one matrix. */
function pose({ centre, axes }) {
  const [a, b, c, d, e, f, g, h, i] = axes;
  const [x, y, z] = centre;
  return new THREE.Matrix4().set(a, b, c, x, d, e, f, y, g, h, i, z, 0, 0, 0, 1);
}

/** A box, a sphere, or a cylinder along z, about its middle. */
function solid({ form, size, radius, length }) {
  if (form === "box") return new THREE.BoxGeometry(...size);
  if (form === "sphere") return new THREE.SphereGeometry(radius, 32, 20);
  return new THREE.CylinderGeometry(radius, radius, length, 40).rotateX(Math.PI / 2);
}

function beam({ from, to, thickness }, material) {
  const [a, b] = [new THREE.Vector3(...from), new THREE.Vector3(...to)];
  const along = b.clone().sub(a);
  const geometry = new THREE.BoxGeometry(along.length() + 0.6 * thickness, thickness, thickness);
  const turn = new THREE.Quaternion().setFromUnitVectors(new THREE.Vector3(1, 0, 0), along.normalize());
  geometry.applyQuaternion(turn).translate(...a.add(b).multiplyScalar(0.5));
  return new THREE.Mesh(geometry, material);
}

/** Triangles of a mesh; its corners are steps from their least coordinates. Every triangle is flat. */
function meshGeometry({ vertices, faces, low, step }) {
  const steps = decode(vertices);
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(Float32Array.from(steps, (k, i) => low[i % 3] + k * step[i % 3]), 3));
  geometry.setIndex(new THREE.BufferAttribute(decode(faces), 1));
  const flat = geometry.toNonIndexed();
  flat.computeVertexNormals();
  return flat;
}
