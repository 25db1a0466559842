// The bar below: play, scrub, speed, and the buttons that keys have too.

import { make } from "./dom.js";

export const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];
const ICONS = { play: "▶", pause: "❚❚" };

export class Bar {
  constructor(element, clock, actions) {
    this.clock = clock;
    const button = (name, text, title, act) => make("button", {
      type: "button", className: name, text, title, "aria-label": title, on: { click: act },
    });
    this.play = button("play", ICONS.play, "play or pause (space)", () => clock.toggle());
    this.play.disabled = clock.duration <= 0;
    this.slider = make("input", {
      type: "range", min: 0, max: clock.duration, step: "any", value: 0, "aria-label": "time", className: "slider",
      on: { input: () => clock.seek(this.slider.valueAsNumber) },
    });
    this.slider.disabled = clock.duration <= 0;
    this.now = make("output", { className: "now" });
    this.speed = make("select", { className: "speed", title: "speed", "aria-label": "speed", on: { change: () => clock.setSpeed(Number(this.speed.value)) } });
    this.speed.append(...SPEEDS.map((speed) => make("option", { value: speed, text: `${speed}×` })));
    this.follow = button("follow", "Follow", "follow the vehicle (F)", actions.follow);
    element.append(
      this.play, this.now, this.slider, this.speed, this.follow,
      button("whole", "All", "see everything (A)", actions.whole),
      ...(actions.tools ?? []),
      button("theme", "◐", "dark or light (D)", actions.theme),
      button("keys", "?", "keys (?)", actions.help));
    clock.listen(() => this.show());
    this.show();
  }

  show() {
    const { clock } = this;
    this.play.textContent = clock.playing ? ICONS.pause : ICONS.play;
    this.play.setAttribute("aria-pressed", String(clock.playing));
    this.slider.valueAsNumber = clock.time;
    this.slider.style.setProperty("--done", `${(100 * clock.time) / Math.max(clock.duration, 1e-9)}%`);
    this.speed.value = String(clock.speed);
    this.now.textContent = `${clock.time.toFixed(2)} / ${clock.duration.toFixed(2)} s`;
  }

  showFollow(on) {
    this.follow.setAttribute("aria-pressed", String(on));
  }
}
