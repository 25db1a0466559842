// What the legend switches: runs, endings of a fan, sets of poses, lines, and layers such as paths and arrows.

import { tidy } from "./dom.js";

export function fillLegend(legend, viewer) {
  const { runs, fan, poses, lines, grounds, scales, stage, data } = viewer;
  const swatches = [];
  const rows = new Map();
  const redraw = (act) => (on) => {
    act(on);
    stage.draw();
  };
  if (runs.length) legend.heading(runs.length > 1 ? "Runs" : "Run");
  for (const run of runs) {
    const { swatch, row } = legend.entry({
      name: run.name,
      detail: describe(run),
      disabled: run.rows === 0,
      shown: run.rows > 0,
      choose: () => viewer.follow(run),
      change: redraw((on) => {
        run.shown = on;
        run.object.visible = on;
        viewer.plots.draw();
      }),
    });
    rows.set(run, row);
    swatches.push([swatch, () => run.colour]);
    if (run.data.drawn < run.data.rows) legend.note(`${run.name}: ${run.data.drawn} of ${run.data.rows} states are drawn, evenly chosen.`);
  }
  if (fan) {
    legend.heading("Rollouts");
    for (const group of fan.groups) {
      const { swatch } = legend.entry({
        name: group.status.replace("_", " "),
        detail: `${group.total}: ${group.meaning}`,
        shape: "line",
        change: redraw((on) => {
          group.object.visible = on;
          group.now.visible = on;
        }),
      });
      swatches.push([swatch, () => group.lines.material.color]);
    }
    const { drawn, total, states, statesDrawn } = data.fan;
    const each = statesDrawn < states ? `${statesDrawn} of ${states} states of each` : `all ${states} states of each`;
    legend.note(`${drawn < total ? `${drawn} of ${total} are drawn, evenly chosen` : `All ${total} are drawn`}, with ${each}.`);
    legend.note(`Points show where each is now. While the view turns on a machine that draws slowly, ${fan.turning}.`);
  }
  for (const [i, one] of poses.entries()) {
    if (i === 0) legend.heading("Uncertainty");
    const { swatch } = legend.entry({
      name: one.name, detail: `95 % ellipses, ${describePoses(one)}`, shape: "ring",
      change: redraw((on) => { one.object.visible = on; }),
    });
    swatches.push([swatch, () => one.lines.material.color]);
  }
  for (const [i, one] of lines.entries()) {
    if (i === 0) legend.heading("Lines");
    const { swatch } = legend.entry({
      name: one.name, detail: one.detail, shape: "line", change: redraw((on) => { one.object.visible = on; }),
    });
    swatches.push([swatch, () => one.material.color]);
  }
  legend.heading("Layers");
  const layer = (name, detail, shape, variable, change, shown = true) => {
    const { swatch } = legend.entry({ name, detail, shape, shown, change: redraw(change) });
    swatches.push([swatch, () => viewer.theme.colour(variable)]);
    if (!shown) change(false);
  };
  const drawn = runs.filter((run) => run.rows > 0);
  const several = grounds.filter(Boolean).length > 1;
  const switches = new Map();
  for (const [i, ground] of grounds.entries()) {
    if (!ground) continue;
    const { swatch, input, small } = legend.entry({
      name: several ? `ground of ${under(i, runs)}` : "ground", detail: "lighter is higher", shape: "block",
      change: redraw((on) => viewer.wantGround(i, on)),
    });
    switches.set(i, { input, small });
    swatches.push([swatch, () => viewer.theme.colour("--ground-middle")]);
  }
  if (switches.size) {
    const lined = grounds.filter(Boolean).map(({ data: { contour, grid } }) => `${contour ? `contours every ${contour} m, ` : ""}grid of ${grid} m`);
    layer("lines on it", [...new Set(lined)].join("; "), "line", "--ground-ink", (on) => grounds.forEach((one) => one?.showLines(on)));
  }
  if (drawn.length) {
    layer("path", "of the body", "line", "--text", (on) => drawn.forEach((run) => { run.paths.body.visible = on; }));
    layer("tracks", "of the contacts, coloured by slip", "slip-ramp", "--slip", (on) => drawn.forEach((run) => { run.paths.contacts.visible = on; }));
    legend.slipScale(scales.worstSlip);
    layer("slip", `arrows, ${arrowScale(scales.slip, "m/s")}`, "arrow", "--slip", (on) => drawn.forEach((run) => { run.slipping.object.visible = on; }));
  }
  const forced = drawn.filter((run) => run.forces);
  if (forced.length) {
    layer("forces", `on the wheels, ${arrowScale(scales.force, "N")}`, "arrow", "--force", (on) => forced.forEach((run) => { run.forces.object.visible = on; }));
  }
  viewer.theme.listen(() => {
    for (const [swatch, colour] of swatches) swatch.style.setProperty("--colour", `#${colour().getHexString()}`);
  });
  return {
    showFocus(focus) {
      for (const [run, row] of rows) row.classList.toggle("focus", run === focus && runs.length > 1);
    },
    /** Which grounds are drawn, and how, after another run is followed. */
    showGrounds() {
      for (const [i, { input, small }] of switches) {
        const main = i === viewer.mainGround();
        input.checked = viewer.groundShown(i);
        if (several) small.textContent = `${grounds[i].description}${main ? "" : input.checked ? ", seen through" : ", not drawn"}`;
      }
    },
  };
}

/** The runs that a ground is under. */
function under(ground, runs) {
  const names = runs.filter((run) => run.data.ground === ground).map((run) => run.name);
  if (names.length > 3) return `${names.slice(0, 2).join(", ")} and ${names.length - 2} more`;
  return names.join(", ") || "the rollouts";
}

function describePoses({ data: { drawn, total }, time, chosen }) {
  const known = drawn < total ? `${drawn} of ${total}` : String(total);
  if (!time) return known;
  return `now and ${chosen.length} of ${total} along the path${drawn < total ? ` (${drawn} are in the page)` : ""}`;
}

function describe(run) {
  const { vehicle, status, meaning, distance } = run.data;
  const who = run.name.startsWith(vehicle.name) ? "" : `${vehicle.name}, `;
  if (run.rows === 0) return `${who}no states: ${meaning}`;
  const end = status === "ok" ? "" : `, ${status.replace("_", " ")}: ${meaning}`;
  return `${who}${tidy(run.duration)} s, ${tidy(distance)} m${end}`;
}

/** How long an arrow is, in round numbers. */
function arrowScale(metresPerUnit, unit) {
  if (!(metresPerUnit > 0)) return "none";
  const rough = 1 / metresPerUnit;
  const power = 10 ** Math.floor(Math.log10(rough));
  const round = [1, 2, 5, 10].map((k) => k * power).find((v) => v >= rough * 0.999);
  return `1 m is ${Number(rough.toPrecision(2)) || round} ${unit}`;
}
