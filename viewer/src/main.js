// The page: reads its scene, builds what is in it, and moves everything with one clock.

import * as THREE from "three";
import { Bar, SPEEDS } from "./bar.js";
import { Clock } from "./clock.js";
import { readScene } from "./decode.js";
import { Ellipses } from "./ellipses.js";
import { Fan } from "./fan.js";
import { Ground } from "./ground.js";
import { Keys } from "./keys.js";
import { Legend } from "./legend.js";
import { fillLegend } from "./layers.js";
import { Lines } from "./lines.js";
import { Plots } from "./plots.js";
import { Run, commonScales } from "./run.js";
import { Stage } from "./stage.js";
import { Theme } from "./theme.js";
import { Tools } from "./tools.js";
import { View } from "./view.js";

const byId = (id) => document.getElementById(id);

class Viewer {
  constructor(data) {
    this.data = data;
    this.theme = new Theme();
    this.stage = new Stage(byId("canvas"), this.theme);
    this.scales = commonScales(data.runs);
    this.grounds = data.grounds.map((ground) => ground && new Ground(ground));
    this.runs = data.runs.map((run, i) => new Run(run, i, data.origin, this.scales, this.grounds[run.ground]));
    this.fan = data.fan && new Fan(data.fan);
    this.focus = this.runs.find((run) => run.rows > 0) ?? null;
    this.poses = data.poses.map((one) => new Ellipses(one, this.grounds[0], 0.008 * data.size));
    this.lines = data.lines.map((one) => new Lines(one, this.grounds[0], 0.02 * data.size));
    this.clock = new Clock(Math.max(0, ...[...this.runs, ...this.poses, this.fan].filter(Boolean).map((one) => one.duration)));
    this.wanted = new Map(); // grounds that somebody switched on or off
    this.view = new View(this.stage, this.focus ? this.focus.data.vehicle.size : data.size);
    this.fill();
    this.theme.listen(() => this.paint());
    this.stage.compile(); // goes on while the rest of the page is made
    this.plots = new Plots(byId("plots"), this.runs.filter((run) => run.rows > 0), this.clock, this.theme, data.palette);
    document.body.classList.toggle("no-plots", byId("plots").hidden);
    this.addControls();
    this.stage.fit();
    this.clock.listen(() => this.move());
    this.move();
    this.lookAround();
    this.say();
  }

  fill() {
    const { scene } = this.stage;
    for (const ground of this.grounds) if (ground) scene.add(ground.object);
    for (const run of this.runs) scene.add(run.object);
    for (const one of [...this.poses, ...this.lines]) scene.add(one.object);
    for (const group of this.fan?.groups ?? []) {
      scene.add(group.object);
      this.stage.over.add(group.now);
    }
    const detailed = [...this.grounds, ...this.runs.map((run) => run.paths), this.fan].filter(Boolean);
    this.stage.onFine = (fine) => detailed.forEach((one) => one.setFine(fine));
    this.stage.onFine(this.stage.fine);
    this.showGrounds();
  }

  paint() {
    const { palette } = this.data;
    for (const ground of this.grounds) ground?.paint(this.theme);
    for (const run of this.runs) {
      run.paint(this.theme, this.theme.shade(palette[run.index % palette.length]), run !== this.focus && this.focus !== null);
    }
    this.poses.forEach((one, i) => one.paint(this.theme.shade(palette[(i + 5) % palette.length])));
    this.fan?.paint(this.theme);
    for (const one of this.lines) one.paint(this.theme);
    if (this.focus) this.fadeGhosts();
    this.stage.draw();
  }

  /** The ground under the run that is followed; that of a fan where there is no run. */
  mainGround() {
    return this.focus ? this.focus.data.ground : 0;
  }

  /** The main ground is drawn unless it is switched off, and others, seen through, if they are switched on. */
  groundShown(i) {
    return this.wanted.get(i) ?? i === this.mainGround();
  }

  wantGround(i, on) {
    this.wanted.set(i, on);
    this.showGrounds();
  }

  /** Grounds that are drawn, the main one first. */
  groundsByRank() {
    const shown = this.grounds.filter((ground, i) => ground && this.groundShown(i));
    const main = this.grounds[this.mainGround()];
    return shown.includes(main) ? [main, ...shown.filter((ground) => ground !== main)] : shown;
  }

  showGrounds() {
    this.grounds.forEach((ground, i) => {
      if (!ground) return;
      ground.object.visible = this.groundShown(i);
      if (ground.object.visible) ground.setGhost(i !== this.mainGround());
    });
    this.layers?.showGrounds();
    byId("subtitle").textContent = this.subtitle();
  }

  follow(run) {
    if (run.rows === 0) return;
    this.focus = run;
    this.view.place = null;
    this.view.size = run.data.vehicle.size;
    this.wanted.clear();
    this.showGrounds();
    this.paint();
    this.plots.setFocus(run);
    this.layers.showFocus(run);
    this.move();
    this.view.near("corner", run.vehicle.heading);
  }

  next() {
    const able = this.runs.filter((run) => run.rows > 0);
    if (able.length > 1) this.follow(able[(able.indexOf(this.focus) + 1) % able.length]);
  }

  move() {
    const { time } = this.clock;
    const still = !this.focus && !this.poses.length; // but for the points of a fan
    this.stage.moving = this.clock.playing && !still;
    for (const one of [...this.runs, ...this.poses]) one.moveTo(time);
    this.fan?.moveTo(time);
    this.plots?.moveTo(time);
    if (still && this.stage.drawn) {
      this.stage.drawOver();
      return;
    }
    if (this.focus) {
      this.fadeGhosts();
      this.view.carry(this.focus.vehicle.place);
    }
    this.stage.draw();
  }

  fadeGhosts() {
    for (const run of this.runs) {
      if (run !== this.focus) run.vehicle.fade(this.focus.vehicle.place, this.focus.data.vehicle.size);
    }
  }

  box() {
    const box = new THREE.Box3();
    for (const run of this.runs) if (run.shown) box.union(run.box());
    for (const group of this.fan?.groups ?? []) box.union(new THREE.Box3().setFromArray(group.paths));
    for (const one of this.lines) box.union(one.box());
    return box;
  }

  lookAround() {
    const box = this.box();
    const reach = box.isEmpty() ? 1 : box.getSize(new THREE.Vector3()).length();
    this.stage.camera.near = 0.02 * this.view.size;
    this.stage.camera.far = 40 * (reach + 10 * this.view.size);
    this.stage.camera.updateProjectionMatrix();
    this.stage.controls.minDistance = 0.1 * this.view.size;
    this.stage.controls.maxDistance = 0.5 * this.stage.camera.far;
    if (this.focus && !this.fan && !this.lines.length) this.view.near("corner", this.focus.vehicle.heading);
    else this.seeAll();
  }

  seeAll() {
    this.view.follow(false);
    if (!this.focus) this.stage.light(this.box().getCenter(new THREE.Vector3()), this.view.size);
    this.view.whole(this.box());
  }

  /** One recorded step of the run that is followed, or a part of the whole. */
  step(count) {
    const time = this.focus?.vehicle.time ?? this.fan?.time;
    if (!time?.length) return;
    this.clock.pause();
    let row = 0;
    while (row < time.length - 1 && time[row + 1] <= this.clock.time + 1e-9) row += 1;
    this.clock.seek(time[Math.min(Math.max(row + count, 0), time.length - 1)]);
  }

  faster(by) {
    const at = SPEEDS.indexOf(this.clock.speed) + by;
    this.clock.setSpeed(SPEEDS[Math.min(Math.max(at, 0), SPEEDS.length - 1)]);
  }

  near(direction) {
    this.view.follow(true);
    this.view.near(direction, direction === "top" ? 0 : (this.focus?.vehicle.heading ?? 0));
  }

  addControls() {
    const { clock, view, theme } = this;
    const toggleFollow = () => {
      if (!this.focus) return;
      view.follow(!view.following);
      if (view.following) view.near("corner", this.focus.vehicle.heading);
    };
    const seconds = (by) => () => clock.seek(clock.time + by);
    const tools = new Tools(this);
    this.tools = tools;
    this.keys = new Keys(byId("help"), [
      { keys: [" "], text: "play or pause", act: () => clock.toggle() },
      { keys: ["ArrowLeft", "ArrowRight"], text: "half a second back or forward; with shift five", act: () => {} },
      { keys: [",", "."], text: "one recorded step back or forward", act: () => {} },
      { keys: ["Home", "End"], text: "to the start or the end", act: () => {} },
      { keys: ["-", "+"], text: "slower or faster", act: () => {} },
      { keys: ["f"], text: "follow the vehicle, or keep the view", act: toggleFollow },
      { keys: ["a"], text: "see everything", act: () => this.seeAll() },
      ...tools.keys.rows,
      { keys: ["n"], text: "follow the next run", act: () => this.next() },
      { keys: ["l"], text: "legend on or off", act: () => this.legend.toggle() },
      { keys: ["p"], text: "charts on or off", act: () => this.togglePlots() },
      { keys: ["d"], text: "dark or light", act: () => theme.toggle() },
      { keys: ["?"], text: "this list", act: () => this.keys.toggle() },
    ], `Made by Grouser ${this.data.version} with three.js ${THREE.REVISION}. This page uses no network.`);
    const pairs = {
      ArrowLeft: seconds(-0.5), ArrowRight: seconds(0.5), "Shift ArrowLeft": seconds(-5), "Shift ArrowRight": seconds(5),
      ",": () => this.step(-1), ".": () => this.step(1), Home: () => clock.seek(0), End: () => clock.seek(clock.duration),
      "-": () => this.faster(-1), "+": () => this.faster(1), "=": () => this.faster(1),
      ...tools.keys.pairs,
    };
    for (const [key, act] of Object.entries(pairs)) this.keys.actions.set(key, act);
    this.bar = new Bar(byId("bar"), clock, {
      follow: toggleFollow, whole: () => this.seeAll(), theme: () => theme.toggle(), help: () => this.keys.toggle(),
      tools: tools.elements,
    });
    view.listen(() => this.bar.showFollow(view.following));
    this.bar.showFollow(view.following);
    this.bar.follow.disabled = this.focus === null;
    this.legend = new Legend(byId("legend"), (pixels) => this.stage.cover(pixels));
    this.layers = fillLegend(this.legend, this);
    if (this.focus) this.layers.showFocus(this.focus);
    this.layers.showGrounds();
  }

  togglePlots() {
    const plots = byId("plots");
    plots.hidden = !plots.hidden;
    document.body.classList.toggle("no-plots", plots.hidden);
    this.plots.draw();
  }

  /** Title, and what the reader should know before looking. */
  say() {
    document.title = `${this.data.title} · Grouser`;
    byId("title").textContent = this.data.title;
    if (!this.stage.renderer) notice("This browser cannot draw in 3D here (WebGL 2 is off). Times and curves still work.");
  }

  subtitle() {
    const ground = this.grounds[this.mainGround()];
    const several = this.grounds.filter(Boolean).length > 1;
    const parts = [];
    if (ground) parts.push(several && this.focus ? `on the ground of ${this.focus.name}: ${ground.description}` : ground.description);
    parts.push(`${this.clock.duration.toFixed(this.clock.duration < 10 ? 1 : 0)} s`);
    if (this.fan) {
      const { drawn, total, states, statesDrawn } = this.data.fan;
      parts.push(`${drawn} of ${total} rollouts, each with ${statesDrawn} of ${states} states`);
    }
    return parts.join(" · ");
  }

  state() {
    return {
      time: this.clock.time,
      duration: this.clock.duration,
      playing: this.clock.playing,
      speed: this.clock.speed,
      following: this.view.following,
      theme: this.theme.name,
      draws: this.stage.drawn,
      fine: this.stage.fine,
      triangles: this.stage.renderer?.info.render.triangles ?? 0,
      calls: this.stage.renderer?.info.render.calls ?? 0,
      webgl: this.stage.renderer !== null,
      runs: this.runs.map((run) => ({ name: run.name, status: run.data.status, rows: run.rows, shown: run.shown })),
      fan: this.data.fan && { total: this.data.fan.total, drawn: this.data.fan.drawn },
      focus: this.focus?.index ?? null,
      grounds: this.grounds.map((ground, i) => ground && { shown: this.groundShown(i), main: i === this.mainGround() }),
    };
  }
}

function notice(text) {
  const element = byId("notice");
  element.textContent = text;
  element.hidden = false;
}

window.grouser = { ready: false };
try {
  const viewer = new Viewer(readScene());
  viewer.stage.drawNow();
  window.grouser = {
    ready: true,
    readyAfter: performance.now(), // milliseconds since the page began to open
    seek: (t) => viewer.clock.seek(t),
    play: () => viewer.clock.play(),
    pause: () => viewer.clock.pause(),
    state: () => viewer.state(),
    wheelPose: (run, wheel) => viewer.runs[run].vehicle.wheelPose(wheel),
    ellipse: (set) => viewer.poses[set].drawn(viewer.data.origin),
    chart: (key) => viewer.plots.cards.find((card) => card.plot.key === key)?.said() ?? null,
    ...viewer.tools.api,
  };
  Object.assign(document.documentElement.dataset, { ready: "true", readyAfter: Math.round(window.grouser.readyAfter) });
  requestAnimationFrame(() => setTimeout(() => viewer.plots.begin())); // the curves, when the picture is there
} catch (error) {
  notice(`This page could not be drawn: ${error.message}`);
  throw error;
}
