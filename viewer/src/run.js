// One run on the stage: its vehicle, paths and arrows, moved together.

import * as THREE from "three";
import { Arrows } from "./arrows.js";
import { decode } from "./decode.js";
import { Paths } from "./paths.js";
import { Vehicle } from "./vehicle.js";

export class Run {
  /** scales: metres of arrow per newton and per m/s of slip; the slip [m/s] that has the last colour. */
  constructor(data, index, origin, scales, ground) {
    Object.assign(this, { data, index, scales, name: data.name, shown: true });
    this.vehicle = new Vehicle(data, origin);
    this.wheels = data.vehicle.wheels.length;
    this.rows = this.vehicle.time.length;
    this.duration = this.rows ? this.vehicle.time[this.rows - 1] : 0;
    this.object = new THREE.Group();
    const size = data.vehicle.size;
    this.contact = contactOf(data);
    if (this.contact) raise(this.contact.point, ground, 0.005 * size);
    this.paths = new Paths(Float32Array.from(this.vehicle.poses[0]?.position ?? []), this.tracks(), this.slips(), scales.worstSlip);
    this.forces = this.contact?.force ? new Arrows(this.wheels, 0.011 * size) : null;
    this.slipping = this.contact ? new Arrows(this.wheels, 0.011 * size) : null;
    this.object.add(this.vehicle.object, this.paths.body, this.paths.contacts);
    for (const arrows of [this.forces, this.slipping]) if (arrows) this.object.add(arrows.object);
    this.place = new THREE.Vector3();
    this.vector = new THREE.Vector3();
  }

  paint(theme, colour, ghost) {
    this.colour = colour;
    this.vehicle.paint(theme, colour, ghost);
    this.paths.paint(colour, ghost);
    this.forces?.paint(theme.colour("--force"), ghost);
    this.slipping?.paint(theme.colour("--slip"), ghost);
  }

  moveTo(t) {
    const at = this.vehicle.moveTo(t);
    if (!at) return;
    this.paths.moveTo(at.row);
    // Forces and slip belong to the step that begins at the row; they are held over it.
    this.point(this.forces, this.contact?.force, at, this.scales.force);
    this.point(this.slipping, this.contact?.slip, at, this.scales.slip);
  }

  point(arrows, vectors, { row, part }, scale) {
    if (!arrows) return;
    const points = this.contact.point;
    const next = part > 0 ? row + 1 : row;
    for (let w = 0; w < this.wheels; w++) {
      const a = 3 * (row * this.wheels + w);
      const b = 3 * (next * this.wheels + w);
      const mix = (k) => (1 - part) * points[a + k] + part * points[b + k];
      this.place.set(mix(0), mix(1), mix(2));
      this.vector.set(vectors[a], vectors[a + 1], vectors[a + 2]).multiplyScalar(scale);
      arrows.set(w, this.place, this.vector);
    }
  }

  tracks() {
    return this.perWheel(3, (track, row, w) => {
      for (let k = 0; k < 3; k++) track[3 * row + k] = this.contact.point[3 * (row * this.wheels + w) + k];
    });
  }

  slips() {
    return this.perWheel(1, (track, row, w) => {
      const at = 3 * (row * this.wheels + w);
      track[row] = Math.hypot(this.contact.slip[at], this.contact.slip[at + 1], this.contact.slip[at + 2]);
    });
  }

  perWheel(width, fill) {
    if (!this.contact) return [];
    return Array.from({ length: this.wheels }, (_, w) => {
      const track = new Float32Array(width * this.rows);
      for (let row = 0; row < this.rows; row++) fill(track, row, w);
      return track;
    });
  }

  /** The box of everything this run passes through. */
  box() {
    const box = new THREE.Box3();
    const path = this.contact?.point ?? [];
    for (let i = 0; i + 2 < path.length; i += 3) box.expandByPoint(this.place.set(path[i], path[i + 1], path[i + 2]));
    return box.isEmpty() ? box : box.expandByScalar(0.3 * this.data.vehicle.size);
  }
}

const contacts = new WeakMap();

/** Points, slips and forces of a run's contacts, decoded once. */
function contactOf(run) {
  if (!run.contact) return null;
  if (!contacts.has(run)) {
    const { point, slip, force } = run.contact;
    contacts.set(run, { point: decode(point), slip: decode(slip), force: force && decode(force) });
  }
  return contacts.get(run);
}

/** Contacts a little above the ground as it is drawn, from fewer heights than the run knew; sunken ones too. */
function raise(points, ground, lift) {
  for (let i = 0; i + 2 < points.length; i += 3) {
    const level = ground?.heightAt(points[i], points[i + 1]) ?? points[i + 2];
    // Where the two are far apart there is a step in the ground, and the contact point is right.
    points[i + 2] = (Math.abs(level - points[i + 2]) < 20 * lift ? Math.max(level, points[i + 2]) : points[i + 2]) + lift;
  }
}

/** Scales that all runs share: an average load, or a large slip, is drawn as somewhat less than half the smallest vehicle. */
export function commonScales(runs) {
  const size = Math.min(...runs.map((run) => run.vehicle.size));
  let load = 0;
  let loads = 0;
  const speeds = [];
  for (const run of runs) {
    if (!run.contact) continue;
    const { slip, force } = contactOf(run);
    const every = Math.max(1, Math.floor(slip.length / 3 / 3000));
    for (let i = 0; i + 2 < slip.length; i += 3 * every) speeds.push(Math.hypot(slip[i], slip[i + 1], slip[i + 2]));
    if (!force) continue;
    for (let i = 0; i + 2 < force.length; i += 3) {
      load += Math.hypot(force[i], force[i + 1], force[i + 2]);
      loads += 1;
    }
  }
  speeds.sort((a, b) => a - b);
  const worstSlip = Math.max(speeds[Math.floor(0.98 * (speeds.length - 1))] ?? 0, 0.01);
  const mean = loads ? load / loads : 0;
  return { worstSlip, force: mean > 0 ? (0.42 * size) / mean : 0, slip: (0.35 * size) / worstSlip };
}
