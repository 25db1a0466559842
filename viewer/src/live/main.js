// The live page: draws what the simulation sends, and posts what the driver wants.

import * as THREE from "three";
import { readScene } from "../decode.js";
import { make } from "../dom.js";
import { Ground } from "../ground.js";
import { Stage } from "../stage.js";
import { Theme } from "../theme.js";
import { View } from "../view.js";
import { Curves } from "./curves.js";
import { Frames } from "./frame.js";
import { Keys } from "./keys.js";
import { Link } from "./link.js";
import { Panel } from "./panel.js";
import { Rover } from "./rover.js";
import { Stick } from "./stick.js";
import { Track, Way } from "./track.js";

const FACTORS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const CLICK = 5; // pixels that a click may move
const SAID = 6000; // milliseconds that a notice stands
const KEPT = 400; // latencies that are kept

const byId = (id) => document.getElementById(id);

class Live {
  constructor(scene) {
    this.scene = scene;
    const wheels = scene.vehicle.wheels.length;
    this.theme = new Theme();
    this.stage = new Stage(byId("canvas"), this.theme);
    this.frames = new Frames(scene.head, scene.vehicle.frames.length, wheels);
    this.rover = new Rover(scene, this.frames);
    this.track = new Track(scene.vehicle.size);
    this.way = new Way(scene.vehicle.size);
    this.view = new View(this.stage, scene.vehicle.size);
    this.chase = true;
    this.stage.scene.add(this.rover.all, this.track.object, this.way.object);
    this.stage.onFine = (fine) => this.ground?.setFine(fine);
    this.stage.camera.near = 0.02 * scene.vehicle.size;
    this.stage.camera.far = 400 * Math.max(scene.vehicle.size, 1);
    this.stage.controls.minDistance = 0.3 * scene.vehicle.size;
    this.stage.controls.maxDistance = 0.4 * this.stage.camera.far;
    this.setGround(scene.ground);
    this.state = { paused: false, factor: 1, ended: "", recording: false };
    this.goal = { goal: null, reason: "", news: "" };
    this.link = new Link({
      frame: (bytes) => this.take(this.frames.read(bytes)), news: (news) => this.hear(news),
      path: (points) => this.showPath(points), state: (words, how) => this.showLine(words, how),
    });
    this.addPanel();
    this.addBar();
    this.addKeys();
    this.addStick();
    this.addClicks();
    this.theme.listen(() => this.paint());
    byId("title").textContent = scene.title;
    byId("subtitle").textContent = scene.ground?.description ?? "";
    document.title = `${scene.title} · drive · Grouser`;
    if (!this.stage.renderer) this.say("This browser cannot draw in 3D here (WebGL 2 is off). Driving and curves still work.", 0);
    this.link.listen();
  }

  setGround(data) {
    if (!data) return;
    const ground = new Ground(data);
    if (this.ground) {
      this.stage.scene.remove(this.ground.object);
      this.ground.object.traverse((one) => one.geometry?.dispose());
    }
    this.ground = ground;
    ground.paint(this.theme);
    ground.setFine(this.stage.fine);
    this.stage.scene.add(ground.object);
    this.stage.draw();
  }

  paint() {
    const colour = this.theme.shade(this.scene.palette[0]);
    this.rover.dress(this.theme, colour);
    this.track.paint(colour);
    this.way.paint(this.theme.shade(this.scene.palette[2 % this.scene.palette.length]));
    this.ground?.paint(this.theme);
    this.stage.draw();
  }

  // What comes from the simulation.

  /** A picture: kept, and drawn with the next frame of the screen; a later one replaces it. */
  take(frame) {
    const first = !this.frame;
    this.frame = frame;
    this.received = (this.received ?? 0) + 1;
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame((now) => {
      this.asked = false;
      this.show(this.frame, first, now);
    });
  }

  show(frame, first, now) {
    const { rover, view, stage } = this;
    const before = rover.heading;
    const still = this.shown && this.shown.time === frame.time;
    stage.moving = !still;
    this.panel.now(frame);
    this.showTime(frame);
    if (still) {
      this.shown = frame;
      this.measure(frame);
      return; // nothing has moved: a fine picture may be drawn meanwhile
    }
    if (this.shown && frame.time < this.shown.time - 1e-9) {
      this.track.clear();
      this.curves.clear();
    }
    rover.stand(frame);
    const level = this.ground?.heightAt(rover.place.x, rover.place.y) ?? rover.place.z;
    this.track.add(rover.place, level);
    stage.waiting = true; // it is drawn in this very frame of the screen, not in the next
    view.carry(rover.place);
    if (first) this.look("behind");
    else if (this.chase && view.following) this.turnCamera(rover.heading - before);
    this.curves.add(frame.time, this.values(frame));
    this.shown = frame;
    stage.watch(now);
    stage.drawNow();
    this.measure(frame);
  }

  values(frame) {
    const values = [this.frames.slips(frame), [(frame.margin * 180) / Math.PI]];
    return this.scene.dynamic ? [...values, this.frames.loads(frame), [frame.power]] : values;
  }

  turnCamera(angle) {
    if (!angle) return;
    const { camera, controls } = this.stage;
    const away = camera.position.clone().sub(controls.target);
    camera.position.copy(controls.target).add(away.applyAxisAngle(new THREE.Vector3(0, 0, 1), angle));
    controls.update();
  }

  /** How long a key took: to the first picture that knows it, and until that was drawn [ms]. */
  measure(frame) {
    const { pending } = this.stickLog;
    while (pending.length && pending[0].number <= frame.heard) {
      const { at } = pending.shift();
      this.stickLog.done.push({ received: frame.came - at, drawn: performance.now() - at });
      if (this.stickLog.done.length > KEPT) this.stickLog.done.shift();
    }
  }

  hear(news) {
    const { type, error } = news;
    if (type === "state") this.showState(news);
    if (type === "settings") this.panel.show(news);
    if (type === "goal") this.showGoal(news);
    if (type === "ground") this.setGround(news.ground);
    if (type === "saved") this.say(error ?? `wrote ${news.file}`);
    if (type === "refused" && !this.line) this.say(error);
    if (type === "end") {
      this.over = true;
      this.say(`The drive is over: ${news.text}.`, 0);
    }
  }

  showState(state) {
    const ended = state.ended && state.ended !== this.state.ended;
    this.state = state;
    this.play.textContent = state.paused ? "▶" : "❚❚";
    this.play.setAttribute("aria-pressed", String(!state.paused));
    this.factor.value = String(state.factor);
    this.record.setAttribute("aria-pressed", String(state.recording));
    this.record.lastChild.textContent = state.recording ? "Stop and save" : "Record";
    if (ended) this.say(`The simulation has ended: ${state.ended}.`, 0, { text: "Reset", act: () => this.reset() });
    else if (!state.ended && this.noticeOf === "ended") this.say("");
    this.noticeOf = state.ended ? "ended" : "";
  }

  showGoal(goal) {
    const changed = goal.news && goal.news !== this.goal.news;
    const had = this.goal.goal !== null;
    this.goal = goal;
    this.way.to(goal.goal, this.ground, this.scene.origin);
    const words = goal.goal && `Driving to ${goal.goal.map((x) => x.toFixed(1)).join(", ")} m.${goal.reason ? ` It waits: ${goal.reason}.` : ""}`;
    clearTimeout(this.goingOff);
    const text = words || (changed && had ? `${goal.news[0].toUpperCase()}${goal.news.slice(1)}.` : "");
    if (text || !had) this.going(text, Boolean(words));
    if (!goal.goal) this.goingOff = setTimeout(() => this.going(""), SAID / 2);
    this.stage.draw();
  }

  going(text, cancels = false) {
    const going = byId("going");
    going.replaceChildren(make("span", { text }));
    if (cancels) going.append(make("button", { type: "button", text: "Cancel (Esc)", on: { click: () => this.cancel() } }));
    going.hidden = !text;
  }

  cancel() {
    this.link.do({ do: "cancel" });
  }

  showPath(points) {
    this.way.show(points, this.ground);
    this.planned = points.length / 3;
    this.stage.draw();
  }

  showLine(words, { taken, lost }) {
    if (this.over) return;
    this.line = words;
    if (!words) {
      if (this.noticeOf === "line") this.say("");
      return;
    }
    this.say(words, 0, taken && { text: "Drive here", act: () => { this.say(""); this.link.failed = 0; this.link.listen(true); } });
    this.noticeOf = "line";
    if (lost) this.over = true;
  }

  /** A notice, for some time [ms] or until the next; with a button if something can be done. */
  say(text, time = SAID, button = null) {
    const notice = byId("notice");
    clearTimeout(this.silence);
    notice.replaceChildren(make("span", { text }));
    if (button) notice.append(make("button", { type: "button", text: button.text, on: { click: button.act } }));
    notice.hidden = !text;
    if (text && time) this.silence = setTimeout(() => { notice.hidden = true; }, time);
  }

  // What the driver does.

  addPanel() {
    const panel = byId("plots");
    this.panel = new Panel(panel, this.scene, (settings) => this.link.set(settings));
    const { names, dynamic } = this.scene;
    const cards = [
      { title: "Slip speed", unit: "m/s", names, least: 0.1 },
      { title: "Tip margin", unit: "°", names: ["margin"], least: 10 },
    ];
    if (dynamic) {
      cards.push({ title: "Normal force", unit: "N", names, least: 1 }, { title: "Motor power", unit: "W", names: ["all"], least: 10 });
    }
    this.curves = new Curves(panel, cards, this.theme, this.scene.palette);
  }

  addBar() {
    const button = (name, text, title, act) => make("button", {
      type: "button", className: name, text, title, "aria-label": title,
      on: { click: (event) => { act(); event.currentTarget.blur(); } }, // so that space pauses again
    });
    this.play = button("play", "❚❚", "pause or go on (space)", () => this.pause());
    this.nowTime = make("output", { className: "now", id: "now-time" });
    this.factor = make("select", { className: "speed", title: "simulated over real time", "aria-label": "simulated over real time" });
    this.factor.append(...FACTORS.map((factor) => make("option", { value: factor, text: `${factor}×` })));
    this.factor.addEventListener("change", () => {
      this.link.do({ do: "factor", factor: Number(this.factor.value) });
      this.factor.blur();
    });
    this.record = button("record", "", "record, or stop and save (R)", () => this.toggleRecord());
    this.record.append(make("span", { text: "Record" }));
    const { savesTo } = this.scene;
    this.record.disabled = !savesTo;
    this.record.title = savesTo ? `record, or stop and save to ${savesTo} (R)` : "start with --out run.npz to record";
    this.follow = button("follow", "Chase", "turn the view with the vehicle (C)", () => this.toggleChase());
    byId("bar").append(
      this.play, button("step", "❚▶", "one step (.)", () => this.step()), button("reset", "↺", "reset to the start (Backspace)", () => this.reset()),
      this.factor, this.nowTime, this.record, this.follow,
      button("theme", "◐", "dark or light (T)", () => this.theme.toggle()), button("keys", "?", "keys (?)", () => this.keys.toggle()));
    this.follow.setAttribute("aria-pressed", "true");
  }

  addKeys() {
    const faster = (by) => () => {
      const at = FACTORS.findIndex((factor) => factor >= this.state.factor - 1e-9) + by;
      this.link.do({ do: "factor", factor: FACTORS[Math.min(Math.max(at, 0), FACTORS.length - 1)] });
    };
    const sideways = this.scene.lateral ? [{ keys: ["q", "e"], shown: ["Q", "E"], text: "left and right" }] : [];
    this.keys = new Keys(byId("help"), [
      { keys: [], shown: ["↑", "↓", "W", "S"], text: "ahead and back; with shift slowly" },
      { keys: [], shown: ["←", "→", "A", "D"], text: "turn left and right" },
      ...sideways,
      { keys: ["Escape"], shown: ["Esc"], text: "cancel the drive to a place that was clicked", act: () => this.cancel() },
      { keys: [" "], shown: ["space"], text: "pause or go on", act: () => this.pause() },
      { keys: ["."], text: "one step", act: () => this.step() },
      { keys: ["Backspace"], text: "reset to the start", act: () => this.reset() },
      { keys: ["-"], text: "slower", act: faster(-1) },
      { keys: ["+", "="], shown: ["+"], text: "faster", act: faster(1) },
      { keys: ["r"], shown: ["R"], text: "record, or stop and save", act: () => this.toggleRecord() },
      { keys: ["c"], shown: ["C"], text: "turn the view with the vehicle, or not", act: () => this.toggleChase() },
      { keys: ["f"], shown: ["F"], text: "follow the vehicle, or keep the view", act: () => this.view.follow(!this.view.following) },
      { keys: ["1"], text: "view from the corner", act: () => this.look("corner") },
      { keys: ["2"], text: "from above", act: () => this.look("top") },
      { keys: ["3"], text: "from the side", act: () => this.look("side") },
      { keys: ["4"], text: "from behind", act: () => this.look("behind") },
      { keys: ["t"], shown: ["T"], text: "dark or light", act: () => this.theme.toggle() },
      { keys: ["?"], text: "this list", act: () => this.keys.toggle() },
    ], [
      "A click on the ground lets the planner drive there. Drag turns the view, two fingers or the right button move it, the wheel comes nearer.",
      "Gamepad: the left stick drives; A pauses, B cancels a drive to a place, Y resets.",
      `Made by Grouser ${this.scene.version} with three.js ${THREE.REVISION}. This page speaks to the program that serves it, and to nobody else.`,
    ]);
  }

  addStick() {
    this.stickLog = { number: 0, pending: [], done: [] };
    this.stick = new Stick(byId("pad"), ([forward, left, turn]) => {
      if (this.line || this.over) return;
      const number = ++this.stickLog.number;
      this.stickLog.pending.push({ number, at: performance.now() });
      this.link.do({ do: "steer", forward, left, turn, number });
    }, { 0: () => this.pause(), 1: () => this.cancel(), 3: () => this.reset() });
  }

  addClicks() {
    const { canvas } = this.stage;
    let down = null;
    canvas.addEventListener("pointerdown", (event) => {
      down = event.button === 0 && event.isPrimary ? [event.clientX, event.clientY] : null;
    });
    canvas.addEventListener("pointerup", (event) => {
      if (!down || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > CLICK) return;
      const place = this.groundAt(event.clientX, event.clientY);
      if (place) this.link.do({ do: "go", x: place.x + this.scene.origin[0], y: place.y + this.scene.origin[1] });
    });
  }

  /** Where the ground is under a point of the screen, relative to the origin; null: nowhere. */
  groundAt(x, y) {
    if (!this.ground) return null;
    const box = this.stage.canvas.getBoundingClientRect();
    const at = new THREE.Vector2((2 * (x - box.left)) / box.width - 1, 1 - (2 * (y - box.top)) / box.height);
    const ray = new THREE.Raycaster();
    this.stage.camera.updateMatrixWorld(); // it may have turned since the last picture
    ray.setFromCamera(at, this.stage.camera);
    return ray.intersectObject(this.ground.mesh)[0]?.point ?? null;
  }

  pause() {
    this.link.do({ do: "pause", on: !this.state.paused });
  }

  step() {
    this.link.do({ do: "step" });
  }

  reset() {
    this.say("");
    this.link.do({ do: "reset" });
  }

  toggleRecord() {
    if (!this.scene.savesTo) this.say("Nothing is recorded: start with --out run.npz, and the file is written there.");
    else this.link.do({ do: "record", on: !this.state.recording });
  }

  toggleChase() {
    this.chase = !this.chase;
    this.follow.setAttribute("aria-pressed", String(this.chase));
  }

  look(direction) {
    this.view.follow(true);
    this.view.near(direction, direction === "top" ? 0 : this.rover.heading);
  }

  showTime(frame) {
    const pace = frame.paused ? "paused" : `${frame.pace.toFixed(frame.pace < 10 ? 2 : 1)}× real time`;
    const recorded = Number.isFinite(frame.recorded) ? ` · ${frame.recorded.toFixed(1)} s recorded` : "";
    const text = `${frame.time.toFixed(2)} s · ${pace}${recorded}`;
    if (this.nowTime.textContent !== text) this.nowTime.textContent = text;
  }
}

window.grouser = { ready: false };
try {
  const live = new Live(readScene());
  live.stage.drawNow();
  window.grouser = {
    ready: true,
    state: () => ({
      ...live.state, ...live.goal, frame: live.shown && { ...live.shown, values: undefined }, received: live.received ?? 0, line: live.line ?? "",
      planned: live.planned ?? 0, draws: live.stage.drawn, theme: live.theme.name, webgl: live.stage.renderer !== null,
    }),
    latency: () => live.stickLog.done,
    wheelPose: (wheel) => live.rover.wheelPose(wheel),
    /** Where a place [m, world] is on the screen [px]. */
    screen: (x, y) => {
      const [a, b] = [x - live.scene.origin[0], y - live.scene.origin[1]];
      live.stage.camera.updateMatrixWorld();
      const at = new THREE.Vector3(a, b, live.ground.heightAt(a, b)).project(live.stage.camera);
      const box = live.stage.canvas.getBoundingClientRect();
      return { x: box.left + ((at.x + 1) / 2) * box.width, y: box.top + ((1 - at.y) / 2) * box.height };
    },
  };
  document.documentElement.dataset.ready = "true";
} catch (error) {
  byId("notice").textContent = `This page could not be drawn: ${error.message}`;
  byId("notice").hidden = false;
  throw error;
}
