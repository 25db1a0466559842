// What one does with a scene besides playing it: point at things, measure, keep views, save pictures and videos.

import { Vector3 } from "three";
import { Bookmarks, PRESETS } from "./bookmarks.js";
import { make } from "./dom.js";
import { Exporter } from "./exporter.js";
import { Menu } from "./menu.js";
import { Picker } from "./picker.js";
import { Probe } from "./probe.js";

const byId = (id) => document.getElementById(id);

export class Tools {
  constructor(viewer) {
    const { stage, clock, view, theme, data, runs } = viewer;
    this.viewer = viewer;
    this.picker = new Picker(stage, runs, () => viewer.groundsByRank());
    this.probe = new Probe({
      panel: byId("probe"), tip: byId("tip"), stage, picker: this.picker, clock, theme,
      origin: data.origin, size: viewer.view.size, focus: () => viewer.focus,
    });
    this.bookmarks = new Bookmarks(view, {
      page: data.title, origin: data.origin, focus: () => viewer.focus, preset: (direction) => viewer.near(direction),
    });
    this.exporter = new Exporter(byId("export"), { stage, clock, title: data.title });
    this.ruler = make("button", {
      type: "button", className: "ruler", text: "Ruler", title: "measure between two places (M)", "aria-pressed": "false",
      "aria-label": "measure between two places (M)", on: { click: () => this.probe.rule(!this.probe.ruling) },
    });
    this.probe.listen(({ ruling }) => this.ruler.setAttribute("aria-pressed", String(ruling)));
    this.views = new Menu("Views", "views to choose and keep", (item) => this.fillViews(item));
    this.save = make("button", {
      type: "button", className: "export", text: "Save", title: "save a picture or a video (E)", "aria-label": "save a picture or a video (E)",
      on: { click: () => this.exporter.open() },
    });
    this.elements = [this.views.element, this.ruler, this.save];
  }

  fillViews(item) {
    const { bookmarks } = this;
    for (let number = 1; number <= 9; number++) {
      const kept = bookmarks.saved[number];
      const preset = PRESETS[number - 1];
      if (!kept && !preset) continue;
      item(kept ? `kept view ${number}` : `from ${preset[1]}`, () => bookmarks.go(number), String(number));
    }
    if (bookmarks.free) item(`keep this view as ${bookmarks.free}`, () => bookmarks.save(bookmarks.free), `shift ${bookmarks.free}`);
    const last = Math.max(0, ...Object.keys(bookmarks.saved).map(Number));
    if (last) item(`forget view ${last}`, () => bookmarks.forget(last));
  }

  /** Rows for the help, and actions of the keys that are not alone in theirs. */
  get keys() {
    const pairs = { Escape: () => this.probe.clear() };
    for (let number = 1; number <= 9; number++) {
      pairs[number] = () => this.bookmarks.go(number);
      pairs[`Shift ${number}`] = () => this.bookmarks.save(number);
    }
    const rows = [
      { keys: ["1", "9"], text: "views; at first 1 to 4 are from the corner, above, the side, behind", act: () => {} },
      { keys: ["Shift 1", "Shift 9"], text: "keep the view of now under that number", act: () => {} },
      { keys: ["w"], text: "load, slip and torque of the next wheel", act: () => this.probe.nextWheel() },
      { keys: ["m"], text: "ruler: click two places", act: () => this.probe.rule(!this.probe.ruling) },
      { keys: ["e"], text: "save a picture or a video", act: () => this.exporter.open() },
      { keys: ["Escape"], text: "put ruler and values away", act: () => {} },
    ];
    return { rows, pairs };
  }

  /** For tests and other programs; places are in the world [m], pixels those of the window. */
  get api() {
    const { stage, data: { origin } } = this.viewer;
    const plus = (point, sign) => point.map((value, k) => value + sign * origin[k]);
    return {
      pick: (x, y) => {
        const found = this.picker.pick(x, y);
        return found && { kind: found.kind, wheel: found.wheel ?? null, run: found.run?.index ?? null, point: plus(found.point.toArray(), 1) };
      },
      project: (place) => {
        const { left, top, width, height } = stage.canvas.getBoundingClientRect();
        stage.camera.updateMatrixWorld();
        const at = new Vector3(...plus(place, -1)).project(stage.camera);
        return [left + 0.5 * (1 + at.x) * width, top + 0.5 * (1 - at.y) * height];
      },
      probe: () => this.probe.state(),
      settle: () => stage.drawFinely(), // at once, where a page that draws slowly would wait for rest
      camera: () => {
        const [position, target] = [stage.camera.position, stage.controls.target].map((point) => plus(point.toArray(), 1));
        return { position, target, fov: stage.camera.fov };
      },
    };
  }
}
