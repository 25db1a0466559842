// What is said of a thing: rows of words and values. Numbers are those of the run at the time of the clock.

import { tidy } from "./dom.js";
import { decoded } from "./plots.js";
import { rowAt } from "./rows.js";

const OF_WHEEL = [["force", "load"], ["slip", "slip"], ["torque", "motor torque"], ["power", "motor power"], ["rates", "rate"]];

/** Title and rows {key, name, value, unit} of what a picker found, at a time [s]; origin: of the scene [m]. */
export function factsOf(found, t, origin) {
  if (found.kind === "ground") return ground(found, origin);
  const { run } = found;
  const frames = run.data.vehicle.frames;
  const frame = found.kind === "wheel" ? run.data.vehicle.wheels[found.wheel] : found.frame;
  const name = frames[frame]?.name ?? run.data.vehicle.name;
  const rows = found.kind === "wheel" ? wheel(run, name, t) : [...body(run, frame, t), ...joint(run, name, t)];
  const kind = found.kind === "wheel" ? "wheel" : frame === 0 ? "body" : "part";
  return { title: name, detail: run.name === name ? kind : `${kind} of ${run.name}`, rows };
}

function wheel(run, name, t) {
  return OF_WHEEL.map(([key, word]) => value(run, key, name, word, t)).filter(Boolean);
}

function body(run, frame, t) {
  if (frame !== 0) return [];
  const pairs = [["speed", "ahead", "speed ahead"], ["attitude", "roll", "roll"], ["attitude", "pitch", "pitch"], ["margin", "tip margin", "tip margin"]];
  return pairs.map(([key, name, word]) => value(run, key, name, word, t)).filter(Boolean);
}

function joint(run, name, t) {
  return [["joints", "angle"], ["slides", "displacement"], ["torque", "motor torque"]]
    .map(([key, word]) => value(run, key, name, word, t)).filter(Boolean);
}

/** The value of one curve of a run; null where it has none. */
function value(run, key, name, word, t) {
  const plot = run.plots?.get(key);
  const curve = plot ? plot.names.indexOf(name) : -1;
  if (curve < 0) return null;
  const { row } = rowAt(run.vehicle.time, t);
  return { key, name: word, value: decoded(plot).curves[curve][row], unit: plot.unit };
}

function ground({ ground: one, point }, [ox, oy, oz]) {
  const slope = Math.hypot(...one.gradientAt(point.x, point.y));
  const rows = [
    { key: "x", name: "x", value: point.x + ox, unit: "m", digits: 3 },
    { key: "y", name: "y", value: point.y + oy, unit: "m", digits: 3 },
    { key: "height", name: "height", value: one.heightAt(point.x, point.y) + oz, unit: "m", digits: 3 },
    { key: "slope", name: "slope", value: degrees(Math.atan(slope)), unit: "°", digits: 1 },
  ];
  const soil = one.soilAt(point.x, point.y);
  if (soil !== null) rows.push({ key: "soil", name: "soil", text: soil });
  return { title: "Ground", detail: "", rows };
}

/** Of a line between two points [m]: its length, the height it climbs, its slope. */
export function factsOfLine(a, b) {
  const [dx, dy, dz] = [b.x - a.x, b.y - a.y, b.z - a.z];
  const level = Math.hypot(dx, dy);
  const rows = [
    { key: "distance", name: "distance", value: Math.hypot(level, dz), unit: "m", digits: 3 },
    { key: "level", name: "on the map", value: level, unit: "m", digits: 3 },
    { key: "climb", name: "height difference", value: dz, unit: "m", digits: 3 },
    { key: "slope", name: "slope", value: degrees(Math.atan2(dz, level)), unit: "°", digits: 1 },
  ];
  return { title: "Ruler", detail: "", rows };
}

/** A row as text. */
export function said({ value: number, unit, digits, text }) {
  if (text !== undefined) return text;
  const shown = digits === undefined || !Number.isFinite(number) ? tidy(number) : number.toFixed(digits).replace("-", "−");
  return unit === "°" ? `${shown}°` : `${shown} ${unit}`;
}

function degrees(radians) {
  return (180 * radians) / Math.PI;
}
