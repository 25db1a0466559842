// Views that are kept under the keys 1 to 9. Those of a followed vehicle go along with it, and turn with it.

import * as THREE from "three";
import { recall, remember } from "./settings.js";

export const PRESETS = [["corner", "the corner"], ["top", "above"], ["side", "the side"], ["behind", "behind"]];
const UP = new THREE.Vector3(0, 0, 1);

export class Bookmarks {
  /** page: what the views belong to; focus(): the run that is followed, or null; origin: of the scene [m]. */
  constructor(view, { page, focus, origin, preset }) {
    Object.assign(this, { view, focus, preset, origin: new THREE.Vector3(...origin), name: `views ${page}` });
    this.saved = read(this.name);
    this.listeners = [];
  }

  listen(listener) {
    this.listeners.push(listener);
    listener(this);
  }

  /** Keep the view of now under a number, 1 to 9. */
  save(number) {
    const { stage, following } = this.view;
    const ends = [stage.camera.position, stage.controls.target].map((point) => point.clone());
    const run = following ? this.focus() : null;
    for (const point of ends) {
      if (run) point.sub(run.vehicle.place).applyAxisAngle(UP, -run.vehicle.heading);
      else point.add(this.origin);
    }
    this.saved[number] = { following: run !== null, camera: ends[0].toArray(), target: ends[1].toArray() };
    remember(this.name, JSON.stringify(this.saved));
    for (const listener of this.listeners) listener(this);
  }

  /** Look as was kept under a number, or as a preset does; false where there is neither. */
  go(number) {
    const kept = this.saved[number];
    if (!kept) {
      const [direction] = PRESETS[number - 1] ?? [];
      if (direction) this.preset(direction);
      return direction !== undefined;
    }
    const run = kept.following ? this.focus() : null;
    const [camera, target] = [kept.camera, kept.target].map((values) => {
      const point = new THREE.Vector3(...values);
      if (run) return point.applyAxisAngle(UP, run.vehicle.heading).add(run.vehicle.place);
      return kept.following ? point : point.sub(this.origin);
    });
    this.view.follow(run !== null);
    this.view.stand(camera, target);
    return true;
  }

  /** Forget what was kept under a number; a preset is there again. */
  forget(number) {
    delete this.saved[number];
    remember(this.name, JSON.stringify(this.saved));
    for (const listener of this.listeners) listener(this);
  }

  /** The lowest number that is free, or null. */
  get free() {
    for (let number = PRESETS.length + 1; number <= 9; number++) if (!this.saved[number]) return number;
    return null;
  }
}

/** What was kept, without what is no view. */
function read(name) {
  try {
    const found = Object.entries(JSON.parse(recall(name) ?? "{}"));
    const good = ([number, one]) => /^[1-9]$/.test(number)
      && [one?.camera, one?.target].every((values) => Array.isArray(values) && values.length === 3 && values.every(Number.isFinite));
    return Object.fromEntries(found.filter(good));
  } catch {
    return {};
  }
}
