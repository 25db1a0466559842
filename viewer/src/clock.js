// The time of the page: plays, pauses, seeks, at a speed; calls its listeners.

export class Clock {
  constructor(duration) {
    this.duration = duration;
    this.time = 0;
    this.speed = 1;
    this.playing = false;
    this.listeners = [];
    this.before = 0;
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  tell() {
    for (const listener of this.listeners) listener(this);
  }

  seek(time) {
    const wanted = Number(time);
    this.time = Math.min(Math.max(Number.isFinite(wanted) ? wanted : 0, 0), this.duration);
    this.tell();
  }

  play() {
    if (this.playing || this.duration <= 0) return;
    if (this.time >= this.duration) this.time = 0;
    this.playing = true;
    this.before = performance.now();
    requestAnimationFrame((now) => this.tick(now));
    this.tell();
  }

  pause() {
    this.playing = false;
    this.tell();
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  setSpeed(speed) {
    this.speed = speed;
    this.tell();
  }

  tick(now) {
    if (!this.playing) return;
    // A tab that slept, or a slow machine, skips at most a quarter of a second at once.
    const seconds = Math.min(Math.max(now - this.before, 0) / 1000, 0.25);
    this.before = now;
    this.time = Math.min(this.time + this.speed * seconds, this.duration);
    if (this.time >= this.duration) this.playing = false;
    this.tell();
    // After those who listen have asked to draw: then each picture is drawn before the next tick, not every second one.
    if (this.playing) requestAnimationFrame((next) => this.tick(next));
  }
}
